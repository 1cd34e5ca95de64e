#include "tests/hosts/network.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

namespace spire {
namespace {

using Clock = std::chrono::steady_clock;

bool comes_true(double seconds, const std::function<bool()>& condition) {
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (Clock::now() > end) return false;
    usleep(20000);  // gives the core to those who are to end; the end of the loop is the condition
  }
  return true;
}

}  // namespace

Network::Network(int hosts) : net_("spire-" + std::to_string(getpid())) {
  if (geteuid() != 0) {
    missing_ = "no root";
    return;
  }
  Output output = call({"up", net_, std::to_string(hosts)});
  if (output.code != 0) missing_ = "no network namespaces here: " + output.last_error_line();
}

Network::~Network() {
  if (geteuid() == 0) call({"down", net_});
}

Output Network::call(const Words& words) const {
  return Program(HOSTS_SCRIPT, words).finish();
}

Words Network::on(int host, const Words& command) const {
  return Words{HOSTS_SCRIPT, "on", net_, name(host)} + command;
}

Words Network::mpirun(int hosts, int ranks, const std::string& folder) const {
  std::ofstream file(folder + "/hosts.txt");
  for (int host = 1; host <= hosts; ++host) file << "10.9.0." << host << " slots=" << ranks << '\n';
  // The script stands for ssh. mpirun and its daemons give up a host after 14 s, or 13 s with data
  // under way: later than the ranks. A daemon that then ends loses words it had not yet written, so
  // the ranks write their own file.
  std::string agent = fmt::format("{} remote {}", HOSTS_SCRIPT, net_);
  return on(1, {"env",
                "OMPI_ALLOW_RUN_AS_ROOT=1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                "ASAN_OPTIONS=detect_leaks=0",
                MPIRUN_PROGRAM,
                "--hostfile",
                folder + "/hosts.txt",
                "-np",
                std::to_string(hosts * ranks),
                "--bind-to",
                "none",
                "--mca",
                "plm_rsh_agent",
                agent,
                "--mca",
                "btl",
                "tcp,self",
                "--mca",
                "btl_tcp_if_include",
                "eth0",
                "--mca",
                "oob_tcp_if_include",
                "eth0",
                "--mca",
                "oob_tcp_keepalive_time",
                "12",
                "--mca",
                "oob_tcp_keepalive_intvl",
                "1",
                "--mca",
                "oob_tcp_keepalive_probes",
                "2",
                "bash",
                "-c",
                "exec \"$@\" 2> >(exec tee \"$0.$OMPI_COMM_WORLD_RANK\" >&2)",
                folder + "/stderr"});
}

void Network::cut(int host) const {
  call({"cut", net_, name(host)});
}

void Network::mend(int host) const {
  call({"mend", net_, name(host)});
}

bool Network::wait_until_gone(int host, const std::string& program, double seconds) const {
  return comes_true(seconds, [&] {
    std::istringstream names(call({"names", net_, name(host)}).out);
    using Lines = std::istream_iterator<std::string>;
    return std::find(Lines(names), Lines(), program) == Lines();
  });
}

bool Network::wait_until_empty(int host, double seconds) const {
  return comes_true(seconds, [&] { return call({"names", net_, name(host)}).out.empty(); });
}

}  // namespace spire
