// Matrices of Eigen as batches, of any storage order, strides and numbers.
#include <spire/eigen.h>

#include "tests/run/api/point_data.h"

namespace spire {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

TEST(EigenRows, AreReadAsTheyLie) {
  PointData data(8);
  Eigen::Map<const RowMajor> given(data.features.data(), 8, 3);
  Eigen::Map<const Eigen::VectorXf> values(data.values.data(), 8);
  Eigen::MatrixXf columns = given;  // column-major
  Eigen::MatrixXd wide = Eigen::MatrixXd::Zero(20, 7);
  wide.block(5, 2, 8, 3) = given.cast<double>();
  RowMajor every_second = RowMajor::Zero(16, 3);
  for (int i = 0; i < 8; ++i) every_second.row(2 * i) = given.row(i);
  Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>> strided(every_second.data(), 8, 3,
                                                              Eigen::OuterStride<>(6));
  Trainer plain(point_config(), data.spec());
  plain.step(data.rows(0, 8));
  for (const Array& features :
       {array("features", given), array("features", columns),
        array("features", wide.block(5, 2, 8, 3)), array("features", strided)}) {
    Trainer trainer(point_config(), data.spec());
    trainer.step({{features, array("values", values)}, 8});
    EXPECT_EQ(trainer.parameter_hash(), plain.parameter_hash());
  }
  std::vector<float> outputs = plain.predict(array("features", columns), 8);
  OutputMatrix matrix = matrix_of(outputs, 8);
  EXPECT_EQ(matrix.rows(), 8);
  EXPECT_EQ(matrix.cols(), 1);
  EXPECT_EQ(matrix(3, 0), outputs[3]);
}

TEST(EigenRows, OneFeatureIsAColumn) {
  Eigen::VectorXf x = Eigen::VectorXf::Random(8);
  Array rows = array("features", x);
  EXPECT_EQ(rows.shape, Shape({8, 1}));
  EXPECT_EQ(matrix_of({}, 0).size(), 0);
}

TEST(EigenRows, LabelsAreVectors) {
  Eigen::MatrixXf x = Eigen::MatrixXf::Random(40, 2);
  Eigen::VectorXi y = (x.col(0).array() > 0).cast<int>();
  RunConfig config = point_config();
  config.epochs = 1;
  Trainer trainer(config, array_source({array("features", x), array("labels", y)}));
  EXPECT_EQ(trainer.data().classes, 2);
  EXPECT_EQ(trainer.fit().samples, 40);
}

}  // namespace
}  // namespace spire
