package peer

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// socket holds the kernel's report about a TCP socket.
type socket struct {
	uid       int
	inode     uint64 // 0: closed by all processes
	connected bool
}

const loopbackIndex = 1 // of lo, in every network namespace

// connectedStates are the states of a connection that a process holds: established, or closed for writing by one
// end, as by a client that waits for its response.
var connectedStates = []byte{1, 4, 5, 8} // ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT

// The request and the answer of sock_diag(7), behind the netlink header.
const (
	diagRequest = 8 + diagID // family, protocol, extensions, padding, states; which one
	diagID      = 48         // ports, addresses, interface, cookie
	diagAnswer  = 4 + diagID + 20
)

// querySocket asks the kernel about the socket with exactly these addresses. One question is cheaper than the tables
// of all connections. ENOENT: the socket does not exist, or the kernel cannot tell.
func querySocket(own, peer netip.AddrPort) (socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return socket{}, err
	}
	defer func() { _ = unix.Close(fd) }()
	err = unix.Sendto(fd, encodeDiagRequest(own, peer), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	if err != nil {
		return socket{}, err
	}
	buf := make([]byte, 4<<10)
	n, from, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT) // the answer is there when the question is sent
	if err != nil {
		return socket{}, err
	}
	if kernel, ok := from.(*unix.SockaddrNetlink); !ok || kernel.Pid != 0 {
		return socket{}, errDiag
	}
	return decodeDiagResponse(buf[:n], own, peer)
}

var errDiag = errors.New("sock_diag: the response is unreadable or about another socket")

// encodeDiagRequest is struct inet_diag_req_v2 in a netlink message. Naming the interface finds also what is bound to
// it.
func encodeDiagRequest(own, peer netip.AddrPort) []byte {
	own, peer = normalizeAddress(own), normalizeAddress(peer)
	family := byte(unix.AF_INET)
	if own.Addr().Is6() {
		family = unix.AF_INET6
	}
	b := binary.NativeEndian.AppendUint32(nil, unix.SizeofNlMsghdr+diagRequest)
	b = binary.NativeEndian.AppendUint16(b, unix.SOCK_DIAG_BY_FAMILY)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0) // sequence and sender
	b = append(b, family, unix.IPPROTO_TCP, 0, 0, 0xff, 0xff, 0xff, 0xff)
	b = appendAddresses(b, own, peer)
	b = binary.NativeEndian.AppendUint32(b, loopbackIndex)
	return append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff) // no cookie
}

// appendAddresses writes ports and addresses as they go over the wire, each address in sixteen bytes.
func appendAddresses(b []byte, own, peer netip.AddrPort) []byte {
	b = binary.BigEndian.AppendUint16(b, own.Port())
	b = binary.BigEndian.AppendUint16(b, peer.Port())
	for _, a := range []netip.Addr{own.Addr(), peer.Addr()} {
		var room [16]byte
		copy(room[:], a.AsSlice())
		b = append(b, room[:]...)
	}
	return b
}

// decodeDiagResponse decodes struct inet_diag_msg. The kernel may answer with a listening socket, so the addresses
// must match.
func decodeDiagResponse(b []byte, own, peer netip.AddrPort) (socket, error) {
	if len(b) < unix.SizeofNlMsghdr+4 {
		return socket{}, errDiag
	}
	kind, body := binary.NativeEndian.Uint16(b[4:]), b[unix.SizeofNlMsghdr:]
	if kind == unix.NLMSG_ERROR {
		if code := int32(binary.NativeEndian.Uint32(body)); code < 0 {
			return socket{}, unix.Errno(-code)
		}
		return socket{}, errDiag
	}
	if kind != unix.SOCK_DIAG_BY_FAMILY || len(body) < diagAnswer {
		return socket{}, errDiag
	}
	end := body[4:]
	if decodeAddress(body[0], end[0:], end[4:]) != normalizeAddress(own) ||
		decodeAddress(body[0], end[2:], end[20:]) != normalizeAddress(peer) {
		return socket{}, unix.ENOENT
	}
	tail := body[4+diagID:] // expires, rqueue, wqueue, uid, inode
	return socket{
		uid: int(binary.NativeEndian.Uint32(tail[12:])), inode: uint64(binary.NativeEndian.Uint32(tail[16:])),
		connected: slices.Contains(connectedStates, body[1]),
	}, nil
}

func decodeAddress(family byte, port, addr []byte) netip.AddrPort {
	a, _ := netip.AddrFromSlice(addr[:4])
	if family == unix.AF_INET6 {
		a, _ = netip.AddrFromSlice(addr[:16])
	}
	return normalizeAddress(netip.AddrPortFrom(a, binary.BigEndian.Uint16(port)))
}

// normalizeAddress returns IPv4 addresses that are mapped to IPv6 as IPv4, without a zone.
func normalizeAddress(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// readConnections reads the tables of all connections, by own and peer address, for systems whose kernel does not
// answer about one socket.
func (p procFS) readConnections() map[string]socket {
	found := map[string]socket{}
	for _, table := range []string{"tcp", "tcp6"} {
		f, err := os.Open(p.root + "/net/" + table)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			// sl local rem st tx:rx tr:when retrnsmt uid timeout inode
			fields := strings.Fields(lines.Text())
			if len(fields) < 10 {
				continue
			}
			state, errState := strconv.ParseUint(fields[3], 16, 8)
			if errState != nil || !slices.Contains(connectedStates, byte(state)) {
				continue
			}
			uid, errUID := strconv.Atoi(fields[7])
			inode, errInode := strconv.ParseUint(fields[9], 10, 64)
			if errUID == nil && errInode == nil {
				found[fields[1]+" "+fields[2]] = socket{uid, inode, true}
			}
		}
		_ = f.Close()
	}
	return found
}

// formatProcAddress formats an address as in /proc/net/tcp: 32-bit words in the byte order of the machine.
func formatProcAddress(table string, a netip.AddrPort) string {
	ip := a.Addr().Unmap().AsSlice()
	if table == "tcp6" {
		wide := a.Addr().As16()
		ip = wide[:]
	}
	var b []byte
	for i := 0; i+4 <= len(ip); i += 4 {
		b = binary.NativeEndian.AppendUint32(b, binary.BigEndian.Uint32(ip[i:]))
	}
	return fmt.Sprintf("%s:%04X", strings.ToUpper(hex.EncodeToString(b)), a.Port())
}
