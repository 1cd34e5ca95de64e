// Outputs of a model on the threads of the program.
#include <spire/inference.h>

#include "engine/c_api/handles.h"

struct spire_session {
  spire::InferenceSession session;
};

spire_status spire_session_create(spire_trainer* trainer, int64_t rows, spire_session** session) {
  return spire::call(__func__, {GIVEN(trainer), GIVEN(session)}, [&] {
    *session = new spire_session{spire::InferenceSession(trainer->trainer, {.rows = rows})};
  });
}

spire_status spire_session_open(const char* checkpoint, int64_t rows, spire_session** session) {
  return spire::call(__func__, {GIVEN(checkpoint), GIVEN(session)}, [&] {
    spire::Checkpoint found =
        spire::find_checkpoint(checkpoint, "", spire::CheckpointChoice::best, {});
    *session = new spire_session{spire::InferenceSession(found, {.rows = rows})};
  });
}

void spire_session_destroy(spire_session* session) {
  delete session;
}

spire_status spire_session_update(spire_session* session, spire_trainer* trainer) {
  return spire::call(__func__, {GIVEN(session), GIVEN(trainer)},
                     [&] { session->session.update(trainer->trainer); });
}

spire_status spire_session_shape(const spire_session* session, size_t* columns, int64_t* numbers) {
  return spire::call(__func__, {GIVEN(session)}, [&] {
    if (columns) *columns = static_cast<size_t>(session->session.columns());
    if (numbers) *numbers = session->session.output_shape().elements();
  });
}

spire_status spire_session_predict(const spire_session* session, const spire_array* arrays,
                                   size_t count, float* outputs, size_t room) {
  return spire::call(__func__, {GIVEN(session), GIVEN(outputs)}, [&] {
    const spire::InferenceSession& model = session->session;
    spire::Samples rows = spire::samples_of(arrays, count, "spire_session_predict");
    auto numbers = spire::check_room(room, model.output_shape().elements(), rows.count,
                                     "spire_session_predict");
    model.predict(rows.columns, rows.count, {outputs, numbers});
  });
}
