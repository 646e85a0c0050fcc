// SPDX-License-Identifier: MIT
// Flows over a dumbbell in ns-3, with its own TcpLedbat and TcpNewReno, as the testbed's scenarios have them.
//
//   ns3_ledbat --flows=ledbat@0,newreno@10 --rate=10Mbps --oneWayMs=25 --buffer=40 --targetMs=25 --seconds=60
//
// Each flow is KIND@START_S or KIND@START_S:BYTES. `--changeS` and `--changedMs` give the core link another delay. Prints
// CSV: every `--sampleS` the time, the packets that wait at the bottleneck, and for each flow the payload that has
// arrived and the window, in bytes. With --pcap it captures the bottleneck.
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

struct Flow {
    std::string kind;
    double start_s;
    uint64_t bytes;  // 0: without end
    Ptr<BulkSendApplication> source;
    Ptr<PacketSink> sink;
    uint32_t window_bytes;
};

std::vector<Flow> g_flows;

NetDeviceContainer Connect(Ptr<Node> a, Ptr<Node> b, const std::string& rate, Time delay) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    // as short as a device queue can be: packets wait in the FIFO above it
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    return link.Install(a, b);
}

void NoteWindow(uint32_t flow, uint32_t, uint32_t now) { g_flows[flow].window_bytes = now; }

void WatchWindow(uint32_t flow) {
    g_flows[flow].source->GetSocket()->TraceConnectWithoutContext("CongestionWindow",
                                                                  MakeBoundCallback(&NoteWindow, flow));
}

void Sample(Ptr<QueueDisc> queue, Time period) {
    std::cout << Simulator::Now().GetSeconds() << "," << queue->GetNPackets();
    for (const Flow& flow : g_flows) std::cout << "," << flow.sink->GetTotalRx() << "," << flow.window_bytes;
    std::cout << "\n";
    Simulator::Schedule(period, &Sample, queue, period);
}

std::vector<Flow> Parsed(const std::string& text) {
    std::vector<Flow> flows;
    std::istringstream entries(text);
    for (std::string entry; std::getline(entries, entry, ',');) {
        const size_t at = entry.find('@'), colon = entry.find(':');
        if (at == std::string::npos) NS_FATAL_ERROR("--flows: found " << entry << "; allowed: KIND@START_S[:BYTES]");
        const uint64_t bytes = colon == std::string::npos ? 0 : std::stoull(entry.substr(colon + 1));
        flows.push_back({entry.substr(0, at), std::stod(entry.substr(at + 1)), bytes, nullptr, nullptr, 0});
    }
    return flows;
}

}  // namespace

int main(int argc, char** argv) {
    std::string flows = "ledbat@0", rate = "10Mbps", pcap;
    double seconds = 60, oneWayMs = 25, changeS = 0, changedMs = 0, sampleS = 0.01;
    uint32_t buffer = 60, targetMs = 25, ackEvery = 2, window = 10;
    CommandLine command;
    command.AddValue("flows", "KIND@START_S[:BYTES],...; KIND is ledbat or newreno", flows);
    command.AddValue("rate", "of the bottleneck", rate);
    command.AddValue("oneWayMs", "delay of the core link", oneWayMs);
    command.AddValue("changeS", "when the core link gets another delay; 0: never", changeS);
    command.AddValue("changedMs", "that delay", changedMs);
    command.AddValue("buffer", "packets", buffer);
    command.AddValue("targetMs", "TARGET of LEDBAT", targetMs);
    command.AddValue("ackEvery", "packets that an ACK waits for", ackEvery);
    command.AddValue("window", "initial window, packets", window);
    command.AddValue("seconds", "of simulation", seconds);
    command.AddValue("sampleS", "seconds between two lines", sampleS);
    command.AddValue("pcap", "file for a capture of the bottleneck", pcap);
    command.Parse(argc, argv);
    g_flows = Parsed(flows);

    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(ackEvery));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(window));
    Config::SetDefault("ns3::TcpLedbat::TargetDelay", TimeValue(MilliSeconds(targetMs)));

    NodeContainer routers, senders, receivers;
    routers.Create(2);
    senders.Create(g_flows.size());
    receivers.Create(g_flows.size());
    InternetStackHelper().Install(NodeContainer(routers, senders, receivers));
    const NetDeviceContainer core = Connect(routers.Get(0), routers.Get(1), rate, MicroSeconds(oneWayMs * 1000));
    TrafficControlHelper fifo;
    fifo.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(std::to_string(buffer) + "p"));
    const Ptr<QueueDisc> queue = fifo.Install(core.Get(0)).Get(0);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    addresses.Assign(core);
    for (uint32_t i = 0; i < g_flows.size(); i++) {
        Flow& flow = g_flows[i];
        const std::string type = flow.kind == "ledbat" ? "ns3::TcpLedbat" : "ns3::TcpNewReno";
        senders.Get(i)->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", TypeIdValue(TypeId::LookupByName(type)));
        addresses.NewNetwork();
        addresses.Assign(Connect(senders.Get(i), routers.Get(0), "1Gbps", Time(0)));
        addresses.NewNetwork();
        const Ipv4InterfaceContainer last = addresses.Assign(Connect(routers.Get(1), receivers.Get(i), "1Gbps", Time(0)));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(last.GetAddress(1), 5001));
        source.SetAttribute("MaxBytes", UintegerValue(flow.bytes));
        flow.source = DynamicCast<BulkSendApplication>(source.Install(senders.Get(i)).Get(0));
        flow.source->SetStartTime(Seconds(flow.start_s));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001));
        flow.sink = DynamicCast<PacketSink>(sink.Install(receivers.Get(i)).Get(0));
        Simulator::Schedule(Seconds(flow.start_s) + MilliSeconds(1), &WatchWindow, i);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    if (changeS > 0)
        Simulator::Schedule(Seconds(changeS), [&core, changedMs] {
            core.Get(0)->GetChannel()->SetAttribute("Delay", TimeValue(MicroSeconds(changedMs * 1000)));
        });
    if (!pcap.empty()) {
        PointToPointHelper capture;
        Config::SetDefault("ns3::PcapFileWrapper::CaptureSize", UintegerValue(96));
        capture.EnablePcap(pcap, core.Get(0), false, true);
    }
    Simulator::Schedule(Time(0), &Sample, queue, Seconds(sampleS));
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    Simulator::Destroy();
    return 0;
}
