# Two hosts, each in a network namespace, with wire.c between them; the words of the endpoints come from /run/logs/flows
set -e
ip link set lo up
unshare --net sleep infinity &
receiver=$!
sleep 0.2
inside="nsenter --target $receiver --net"
$inside ip link set lo up
set_sysctls='while read -r name value; do echo "$value" >"/proc/sys/$name"; done'
sh -c "$set_sysctls" </run/logs/sender.sysctls
$inside sh -c "$set_sysctls" </run/logs/receiver.sysctls
/run/wire $receiver $ORIGIN_NS $SECONDS $FORWARD $BACKWARD $SEED $CHANGES >/run/logs/packets.csv &
wire=$!
until grep -q , /run/logs/packets.csv; do sleep 0.05; done
ip address add 10.0.0.1/30 dev path
ip link set path txqueuelen 10000 up
ip route change 10.0.0.0/30 dev path src 10.0.0.1 $ROUTE_OPTIONS
$inside ip address add 10.0.0.2/30 dev path
$inside ip link set path txqueuelen 10000 up
$inside ip route change 10.0.0.0/30 dev path src 10.0.0.2 $ROUTE_OPTIONS
for endpoint in /run/logs/*.receives /run/logs/*.sends; do
    case $(head -n 1 "$endpoint") in
    "# sender") sh "$endpoint" >>/run/logs/words 2>&1 & ;;
    *) $inside sh "$endpoint" >>/run/logs/words 2>&1 & ;;
    esac
done
wait $wire
