# File transfers: server - 10 Mbit/s, 1 ms - access point - 64 kbit/s, 50 ms - client; frames of the radio link are lost
# independently, in both directions, after their air time. Prints the time of the last acknowledgement and packets sent.
# usage: ns simulate.tcl SEED PACKETS LOSS
foreach {seed packets loss} $argv {}
set ns [new Simulator]
$defaultRNG seed $seed
foreach node {server access client} {set $node [$ns node]}
$ns duplex-link $server $access 10Mb 1ms DropTail
$ns duplex-link $access $client 64kb 50ms DropTail
foreach {from to} [list $access $client $client $access] {
    if {$loss == 0} break
    set losses [new ErrorModel]
    $losses unit pkt
    $losses set rate_ $loss
    $losses drop-target [new Agent/Null]
    $ns link-lossmodel $losses $from $to
}
set tcp [new Agent/TCP/Reno]
foreach {variable value} {window_ 20 packetSize_ 250 useHeaders_ false minrto_ 1} {$tcp set $variable $value}
set sink [new Agent/TCPSink]
$ns attach-agent $server $tcp
$ns attach-agent $client $sink
$ns connect $tcp $sink
Agent/TCP instproc done {} {
    global ns
    puts [format "%.3f %d" [$ns now] [$self set ndatapack_]]
    exit 0
}
$ns at 0.0 "$tcp advanceby $packets"
$ns run
