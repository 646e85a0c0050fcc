// SPDX-License-Identifier: MIT
// The benchmark's flow in ns-3, with its own TcpLedbat: same dumbbell, rate, delays, buffer, packet size and duration.
//
//   ns3_ledbat SECONDS [PCAP]     prints the receiver's bytes; with PCAP captures the bottleneck
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

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2 || argc > 3) {
        std::cerr << "usage: ns3_ledbat SECONDS [PCAP]\n";
        return 2;
    }
    const double seconds = std::atof(argv[1]);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpLedbat")));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpLedbat::TargetDelay", TimeValue(MilliSeconds(25)));

    NodeContainer nodes;
    nodes.Create(4);
    InternetStackHelper().Install(nodes);
    const NetDeviceContainer links[] = {
        Connect(nodes.Get(0), nodes.Get(1), "1Gbps", "0ms"),
        Connect(nodes.Get(1), nodes.Get(2), "10Mbps", "25ms"),
        Connect(nodes.Get(2), nodes.Get(3), "1Gbps", "0ms"),
    };
    TrafficControlHelper fifo;
    fifo.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("60p"));
    fifo.Install(links[1].Get(0));
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
    if (argc == 3) {
        PointToPointHelper capture;
        Config::SetDefault("ns3::PcapFileWrapper::CaptureSize", UintegerValue(96));
        capture.EnablePcap(argv[2], links[1].Get(0), false, true);
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << DynamicCast<PacketSink>(receivers.Get(0))->GetTotalRx() << "\n";
    Simulator::Destroy();
    return 0;
}
