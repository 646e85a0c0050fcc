// SPDX-License-Identifier: MIT
// The benchmark's flow in ns-3, with its own TcpLedbat: same dumbbell, rate, delays, buffer, packet size and duration.
//
//   ns3_ledbat SECONDS TARGET_MS BUFFER_PKTS [PCAP]
//
// Prints, over the last third of the time, the mean number of packets that wait at the bottleneck and the payload's rate
// in bit/s; with PCAP it captures the bottleneck.
#include <cstdlib>
#include <iostream>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

NetDeviceContainer Connect(Ptr<Node> a, Ptr<Node> b, const std::string& rate, const std::string& delay) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", StringValue(delay));
    // as short as a device queue can be: packets wait in the FIFO above it
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    return link.Install(a, b);
}

const Time kSamplePeriod = MilliSeconds(10);

void Sample(Ptr<QueueDisc> queue, double* sum_pkts) {
    *sum_pkts += queue->GetNPackets();
    Simulator::Schedule(kSamplePeriod, &Sample, queue, sum_pkts);
}

void Note(Ptr<PacketSink> sink, uint64_t* bytes) { *bytes = sink->GetTotalRx(); }

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4 || argc > 5) {
        std::cerr << "usage: ns3_ledbat SECONDS TARGET_MS BUFFER_PKTS [PCAP]\n";
        return 2;
    }
    const double seconds = std::atof(argv[1]);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpLedbat")));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpLedbat::TargetDelay", TimeValue(MilliSeconds(std::atoi(argv[2]))));

    NodeContainer nodes;
    nodes.Create(4);
    InternetStackHelper().Install(nodes);
    const NetDeviceContainer links[] = {
        Connect(nodes.Get(0), nodes.Get(1), "1Gbps", "0ms"),
        Connect(nodes.Get(1), nodes.Get(2), "10Mbps", "25ms"),
        Connect(nodes.Get(2), nodes.Get(3), "1Gbps", "0ms"),
    };
    TrafficControlHelper fifo;
    fifo.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(std::string(argv[3]) + "p"));
    const Ptr<QueueDisc> queue = fifo.Install(links[1].Get(0)).Get(0);
    Ipv4AddressHelper addresses;
    Ipv4InterfaceContainer last;
    for (int i = 0; i < 3; i++) {
        addresses.SetBase(("10.0." + std::to_string(i) + ".0").c_str(), "255.255.255.0");
        last = addresses.Assign(links[i]);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(last.GetAddress(1), 5001));
    source.Install(nodes.Get(0)).Start(Seconds(0));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001));
    ApplicationContainer receivers = sink.Install(nodes.Get(3));
    if (argc == 5) {
        PointToPointHelper capture;
        Config::SetDefault("ns3::PcapFileWrapper::CaptureSize", UintegerValue(96));
        capture.EnablePcap(argv[4], links[1].Get(0), false, true);
    }
    const Ptr<PacketSink> received = DynamicCast<PacketSink>(receivers.Get(0));
    double sum_pkts = 0;
    uint64_t before = 0;
    Simulator::Schedule(Seconds(seconds * 2 / 3), &Sample, queue, &sum_pkts);
    Simulator::Schedule(Seconds(seconds * 2 / 3), &Note, received, &before);
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << sum_pkts * kSamplePeriod.GetSeconds() / (seconds / 3) << " "
              << (received->GetTotalRx() - before) * 8 / (seconds / 3) << "\n";
    Simulator::Destroy();
    return 0;
}
