# One transfer: server - wired hop - access point - 64 kbit/s, 50 ms - client, with listed frames of the radio link lost
# after their air time. Prints the time of the last acknowledgement, packets sent, and packets sent again.
# usage: ns ns2_transfers.tcl SEED AGENT RATE DELAY SINK PACKETS AGAIN_S PACKETS LOST_DATA LOST_ACKS {VARIABLE VALUE ...}
foreach {seed agent rate delay sink packets again_s again lost_data lost_acks variables} $argv {}
set ns [new Simulator]
$defaultRNG seed $seed
foreach node {server access client} {set $node [$ns node]}
$ns duplex-link $server $access $rate $delay DropTail
$ns duplex-link $access $client 64kb 50ms DropTail
foreach {from to} [list $server $access $access $server $access $client $client $access] {
    $ns queue-limit $from $to 50
}
foreach {from to list} [list $access $client $lost_data $client $access $lost_acks] {
    set losses [new ErrorModel/List]
    $losses droplist $list
    $losses drop-target [new Agent/Null]
    $ns link-lossmodel $losses $from $to
}
set tcp [new Agent/TCP/$agent]
foreach {variable value} $variables {$tcp set $variable $value}
set receiver [new Agent/TCPSink$sink]
$ns attach-agent $server $tcp
$ns attach-agent $client $receiver
$ns connect $tcp $receiver
set left [expr {$again > 0 ? 2 : 1}]
Agent/TCP instproc done {} {
    global ns left
    incr left -1
    if {$left == 0} {
        puts [format "%.6f %d %d" [$ns now] [$self set ndatapack_] [$self set nrexmitpack_]]
        exit 0
    }
}
$ns at 0.0 "$tcp advanceby $packets"
if {$again > 0} {$ns at $again_s "$tcp advanceby $again"}
$ns at 10000000 "exit 1"
$ns run
