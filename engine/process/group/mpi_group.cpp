#include <algorithm>
#include <atomic>
#include <climits>

#include <mpi.h>

#include "engine/base/fail.h"
#include "engine/base/opened_library.h"
#include "engine/base/thread.h"
#include "engine/process/group/process_group.h"

extern "C" __attribute__((visibility("hidden"))) const spire::OpenedLibrary*
spire_library_mpi();  // where it is opened: SpireOpens.cmake

// Open MPI's constants are addresses of variables of the library.
#if defined(OMPI_PREDEFINED_GLOBAL) && defined(SPIRE_OPENS_mpi)
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) \
  static_cast<type>(spire_library_mpi()->variable(#global))
#endif

namespace spire {
namespace {

// MPI counts in int: both sides cut longer messages into parts of these sizes.
constexpr size_t max_bytes = INT_MAX / 64 * 64;
constexpr int64_t max_floats = INT_MAX / 64 * 64;

std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

// Initializes MPI unless the program that embeds the library has done so; returns whether it did.
bool begin_mpi() {
  int finished = 0, begun = 0, level = 0;
  MPI_Finalized(&finished);
  if (finished)
    fail(Category::device,
         "MPI was finalized and cannot be started again in this process; start a new one");
  MPI_Initialized(&begun);
  if (begun) {
    MPI_Query_thread(&level);
  } else {
    int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
    if (code != MPI_SUCCESS) fail(Category::device, "MPI cannot be started: {}", error_text(code));
  }
  if (level < MPI_THREAD_SERIALIZED)
    fail(Category::device,
         "MPI was started for one thread only; start it with MPI_THREAD_SERIALIZED");
  return !begun;
}

class MpiGroup final : public ProcessGroup {
 public:
  explicit MpiGroup(const Launch& launch);
  ~MpiGroup() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string transport() const override { return fmt::format("MPI ({})", mpi_version()); }
  void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives) override;
  void all_reduce(float* values, int64_t count) override;
  void interrupt() noexcept override { interrupted_.store(true); }
  bool interrupted() const noexcept override { return interrupted_.load(); }

 private:
  void check_peer(int peer) const;
  void start(int code);
  void wait();
  [[noreturn]] void lose(const std::string& message);

  const bool ours_;  // initialized here, so finalized here
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::atomic<bool> interrupted_{false};
  std::string lost_;                   // the failure; requests may then be pending for ever
  std::vector<MPI_Request> requests_;  // kept from call to call
};

// srun without --mpi=pmix, for one, starts every rank as a world of one.
void check_place(const Launch& launch, int rank, int size) {
  if (rank == launch.rank && size == launch.size) return;
  std::string remedy = launch.launcher == "srun"
                           ? "use srun --mpi=pmix"
                           : "use the mpirun of the MPI library that this program is linked with";
  fail(Category::config, "{} started rank {} of {}, but MPI sees rank {} of {}: {}",
       launch.launcher, launch.rank, launch.size, rank, size, remedy);
}

MpiGroup::MpiGroup(const Launch& launch) : ours_(begin_mpi()) {
  if (ours_) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  check_place(launch, rank_, size_);
  // A duplicate communicator keeps these messages apart from the embedding program's.
  int code = MPI_Comm_dup(MPI_COMM_WORLD, &world_);
  if (code != MPI_SUCCESS) fail(Category::collective, "MPI_Comm_dup: {}", error_text(code));
  MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
}

// Both calls wait for the other ranks, which may be dead after a failure: they are left out then.
MpiGroup::~MpiGroup() {
  if (!lost_.empty() || interrupted_.load()) return;
  MPI_Comm_free(&world_);
  if (ours_) MPI_Finalize();
}

void MpiGroup::lose(const std::string& message) {
  lost_ = message;
  throw PeerLost(message);
}

void MpiGroup::check_peer(int peer) const {
  bool other = peer >= 0 && peer < size_ && peer != rank_;
  require(other, "rank {} of {} exchanges with rank {}", rank_, size_, peer);
}

// Checks the result of a call: an error of MPI means that a rank is lost.
void MpiGroup::start(int code) {
  if (code != MPI_SUCCESS) lose("MPI: " + error_text(code));
}

// Waits for requests_ by testing, since MPI_Waitall spins on a core that computing threads need.
// Leaves pending requests alone if it throws: waiting for them may take for ever.
void MpiGroup::wait() {
  Backoff backoff;
  for (;;) {
    if (interrupted_.load()) lose("interrupted because the run has failed");
    int done = 0;
    start(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                      MPI_STATUSES_IGNORE));
    if (done) return;
    backoff.pause();
  }
}

// Calls part(offset, length) for each part of a message.
template <typename Number, typename Part>
void in_parts(Number length, Number limit, const Part& part) {
  for (Number begin = 0; begin < length; begin += limit)
    part(begin, static_cast<int>(std::min(length - begin, limit)));
}

void MpiGroup::exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives) {
  if (!lost_.empty()) throw PeerLost(lost_);
  for (const Outgoing& message : sends) check_peer(message.peer);
  for (const Incoming& message : receives) check_peer(message.peer);
  // Receives first: a message that arrives before its receive is copied once more.
  requests_.clear();
  auto request = [this] { return &requests_.emplace_back(MPI_REQUEST_NULL); };
  for (const Incoming& message : receives) {
    auto to = static_cast<char*>(message.data);
    in_parts(message.bytes, max_bytes, [&](size_t begin, int bytes) {
      start(MPI_Irecv(to + begin, bytes, MPI_BYTE, message.peer, 0, world_, request()));
    });
  }
  for (const Outgoing& message : sends) {
    auto from = static_cast<const char*>(message.data);
    in_parts(message.bytes, max_bytes, [&](size_t begin, int bytes) {
      start(MPI_Isend(from + begin, bytes, MPI_BYTE, message.peer, 0, world_, request()));
    });
  }
  wait();
}

void MpiGroup::all_reduce(float* values, int64_t count) {
  if (!lost_.empty()) throw PeerLost(lost_);
  in_parts(count, max_floats, [&](int64_t begin, int length) {
    requests_.assign(1, MPI_REQUEST_NULL);
    start(MPI_Iallreduce(MPI_IN_PLACE, values + begin, length, MPI_FLOAT, MPI_SUM, world_,
                         requests_.data()));
    wait();
  });
}

}  // namespace

std::unique_ptr<ProcessGroup> mpi_group(const Launch& launch) {
  return std::make_unique<MpiGroup>(launch);
}

// Cuts "Open MPI v4.1.4, package: ..." at its first comma or line end.
std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string version(text);
  version.resize(std::min(version.find_first_of(",\n"), version.size()));
  std::replace(version.begin(), version.end(), '\t', ' ');
  return version;
}

}  // namespace spire
