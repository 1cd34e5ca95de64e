// A page for browsers that shows a run while it goes on: GET /. The page is one file without
// anything from elsewhere, and asks each second for the run's numbers: GET /state.json.
#pragma once
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "engine/observe/http/http_server.h"
#include "engine/observe/latest_state.h"
#include "engine/observe/page/thin_curve.h"

namespace spire {

// What the page shows beside the newest state.
struct PageHistory {
  static constexpr size_t max_messages = 50;
  struct Message {
    std::chrono::system_clock::time_point time;
    bool warning;
    std::string text;
  };

  // Over the steps: loss, metric, samples per second, learning rate, epoch.
  std::array<ThinCurve, 5> steps;
  std::array<ThinCurve, 2> evals;  // loss, metric
  std::deque<Message> messages;    // notes and warnings, the oldest first

  struct End {
    int exit = 0;
    std::string stopped_by;
  };
  std::optional<End> end = {};
};

// Returns the content of state.json; null where a value is missing or not finite.
std::string page_json(const PublishedState& state, const PageHistory& history,
                      std::chrono::system_clock::time_point now);

class LivePage : public LatestState {
 public:
  using Say = std::function<void(std::string_view)>;

  // Serves from now on until the end of on_end(), which waits until a page that is open has
  // had time to read the last state. Throws Error(config) as HttpServer does. note, warn: called
  // in on_start(), with the address, and where other machines reach it.
  LivePage(const ListenAddress& address, Say note, Say warn, WallClock now = wall_time);
  ~LivePage() override;

  void on_start(const StartInfo& start) override;
  void on_step(const StepReport& step) override;
  void on_eval(const EvalReport& eval) override;
  void on_note(std::string_view text) override;
  void on_warning(std::string_view text) override;
  void on_end(const RunSummary& summary) override;
  int port() const { return server_->port(); }  // REQUIRES: the run has not ended

 private:
  HttpReply answer(std::string_view path) const;
  void add_message(bool warning, std::string_view text);

  const Say note_, warn_;
  const WallClock now_;
  mutable std::mutex mutex_;  // of the history, and of what follows
  PageHistory history_;
  mutable std::chrono::steady_clock::time_point asked_at_ = {};  // for the state
  std::optional<HttpServer> server_;
};

}  // namespace spire
