# SPDX-License-Identifier: MIT
# Two flows through one bottleneck in ns-2, as the papers with a dumbbell have them. Arguments: name=value ...; `fewer` packets
# of buffer, a second flow `gap` s after the first and a draw of up to `jitter` s, for `duration` s.
# The output has a line at the start of the second flow and one at the end: instant, then for each flow bytes that left
# the bottleneck's queue, packets that came and packets that were dropped.
array set option {
	seed 1 rate_mbps 10 buffer 40 fewer 0 duration 60 first tcp second ledbat gap 0 jitter 0 slow_start 0 paced 1 filter 1
}
foreach argument $argv {
	set word [split $argument =]
	if {![info exists option([lindex $word 0])]} { puts stderr "unknown option $argument"; exit 2 }
	set option([lindex $word 0]) [lindex $word 1]
}
set payload 1460
set header 40
set ns [new Simulator]
$ns use-scheduler Heap
set draws [new RNG]
$draws seed [expr {$option(seed) * 7919 + 13}]
for {set i 0} {$i < 20} {incr i} { $draws uniform 0 1 }

# the base delay of 25 ms each way holds the transmission of a packet, as the texts have it
set transmission_s [expr {($payload + $header) * 8 / ($option(rate_mbps) * 1e6)}]
set there_s [expr {0.025 - $transmission_s}]
set near [$ns node]
set far [$ns node]
$ns simplex-link $near $far $option(rate_mbps)Mb $there_s DropTail
$ns simplex-link $far $near $option(rate_mbps)Mb 0.025 DropTail
$ns queue-limit $near $far [expr {$option(buffer) - $option(fewer)}]
$ns queue-limit $far $near 10000
set bottleneck [$ns link $near $far]
set monitor [$ns makeflowmon Fid]
$ns attach-fmon $bottleneck $monitor

set start(1) 0
set start(2) [expr {$option(gap) + [$draws uniform 0 1] * $option(jitter)}]
foreach i {1 2} kind [list $option(first) $option(second)] {
	set sender [$ns node]
	set receiver [$ns node]
	$ns duplex-link $sender $near 1000Mb 1e-6 DropTail
	$ns duplex-link $far $receiver 1000Mb 1e-6 DropTail
	foreach {one other} [list $sender $near $near $sender $far $receiver $receiver $far] {
		$ns queue-limit $one $other 100000
	}
	if {$kind == "none"} continue
	set tcp($i) [new Agent/TCP/Linux]
	$tcp($i) set timestamps_ true
	$tcp($i) set window_ 10000
	$tcp($i) set windowInit_ 1
	$tcp($i) set packetSize_ $payload
	$tcp($i) set tcpip_base_hdr_size_ $header
	$tcp($i) set fid_ $i
	$tcp($i) set paced_ [expr {$kind == "ledbat" && $option(paced)}]
	set sink [new Agent/TCPSink/Sack1]
	$sink set ts_echo_rfc1323_ true
	$ns attach-agent $sender $tcp($i)
	$ns attach-agent $receiver $sink
	$ns connect $tcp($i) $sink
	set source($i) [new Application/FTP]
	$source($i) attach-agent $tcp($i)
	$ns at $start($i) "begin $i $kind"
}
proc begin {i kind} {
	global option tcp source
	if {!$option(slow_start)} { $tcp($i) set ssthresh_ 0 }
	$tcp($i) set cwnd_ 1
	$tcp($i) select_ca [expr {$kind == "tcp" ? "reno" : "ledbat"}]
	$source($i) start
}
set any [lindex [array get tcp] 1]
foreach name {filter slow_start} { $any set_ca_default_param ledbat $name $option($name) }

proc counters {} {
	global ns monitor
	foreach i {1 2} { set bytes($i) 0; set came($i) 0; set dropped($i) 0 }
	foreach flow [$monitor flows] {
		set i [$flow set flowid_]
		set bytes($i) [$flow set bdepartures_]
		set came($i) [$flow set parrivals_]
		set dropped($i) [$flow set pdrops_]
	}
	puts "at [format %.6f [$ns now]] $bytes(1) $bytes(2) $came(1) $came(2) $dropped(1) $dropped(2)"
}
$ns at $start(2) counters
$ns at $option(duration) "counters; exit 0"
$ns run
