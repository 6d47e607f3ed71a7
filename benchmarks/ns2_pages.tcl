# Web pages as ns-2's class Http transfers them: the first object of a page alone, then the others over four pairs of
# one-way connections, each made anew for each object. A reply begins, and an object ends, when the source of what went
# before says `done`: it has the last acknowledgement. Server - wired hop - access point - 64 kbit/s, 50 ms - client.
# A request is one packet; a page is a list of the octets of a request, its reply, the next request ...
# Prints when each page ended, in s.
# usage: ns ns2_pages.tcl AGENT RATE DELAY SINK PAGES {VARIABLE VALUE ...}
foreach {agent rate delay sink pages variables} $argv {}
foreach {variable value} $variables {Agent/TCP set $variable $value}
set ns [new Simulator]
foreach node {server access client} {set $node [$ns node]}
$ns duplex-link $server $access $rate $delay DropTail
$ns duplex-link $access $client 64kb 50ms DropTail
foreach {from to} [list $server $access $access $server $access $client $client $access] {
    $ns queue-limit $from $to 50
}
proc send {way pair octets packet} {
    global tcp sink_of
    $tcp($way,$pair) set packetSize_ $packet
    $tcp($way,$pair) reset
    $sink_of($way,$pair) reset
    $tcp($way,$pair) advanceby [expr {($octets + $packet - 1) / $packet}]
}
proc ask {pair} {
    global left reply running
    set left [lassign $left request reply($pair)]
    incr running
    send up $pair $request $request
}
proc done {way pair} {
    global ns pages left reply running
    if {$way == "up"} {return [send down $pair $reply($pair) 250]}
    incr running -1
    set alone [expr {[llength $left] + 2 == [llength [lindex $pages 0]]}]
    set pairs [expr {$alone ? {0 1 2 3} : $pair}]
    foreach each $pairs {if {[llength $left]} {ask $each}}
    if {$running == 0} {
        puts [format "%.9f" [$ns now]]
        set pages [lrange $pages 1 end]
        page
    }
}
proc page {} {
    global pages left
    set left [lindex $pages 0]
    if {![llength $left]} {exit 0}
    ask 0
}
foreach pair {0 1 2 3} {
    foreach {way from to} [list up $client $server down $server $client] {
        set tcp($way,$pair) [new Agent/TCP/$agent]
        set sink_of($way,$pair) [new Agent/TCPSink$sink]
        $ns attach-agent $from $tcp($way,$pair)
        $ns attach-agent $to $sink_of($way,$pair)
        $ns connect $tcp($way,$pair) $sink_of($way,$pair)
        $tcp($way,$pair) proc done {} "done $way $pair"
    }
}
set running 0
$ns at 0.0 page
$ns run
