package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// cancelInterval is how long a cancelled context may go unnoticed while no reply arrives.
const cancelInterval = 100 * time.Millisecond

// drive runs the exchanges on as many threads as there are processors, each with its share. The first error ends all.
func drive(ctx context.Context, exchanges []*exchange, deadline time.Time) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for share := range slices.Chunk(exchanges, max(1, (len(exchanges)+runtime.NumCPU()-1)/runtime.NumCPU())) {
		wg.Go(func() {
			if err := driveShare(ctx, share, deadline); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// driveShare runs exchanges in the calling goroutine. A goroutine per connection would cost a switch of goroutines, and
// often one of threads, per reply, while epoll returns all replies that arrived in the meantime at once. The goroutine
// is locked to its thread, so that the scheduler does not move it between threads after it waited for replies.
func driveShare(ctx context.Context, exchanges []*exchange, deadline time.Time) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d, err := newDriver(exchanges)
	defer d.close()
	if err != nil {
		return err
	}
	for _, c := range d.conns {
		if err := d.send(c, time.Now()); err != nil {
			return err
		}
	}
	events := make([]unix.EpollEvent, len(d.conns))
	for d.active > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		wait := min(time.Until(deadline), cancelInterval)
		if wait <= 0 {
			return d.late()
		}
		n, err := unix.EpollWait(d.epoll, events, int(wait/time.Millisecond)+1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("epoll_wait", err)
		}
		for _, e := range events[:max(n, 0)] {
			if err := d.ready(d.conns[e.Fd]); err != nil {
				return err
			}
		}
	}
	return nil
}

// driver sends and receives over non-blocking sockets.
type driver struct {
	epoll  int
	conns  []*socket
	active int // connections whose exchange has not ended
}

// socket is the connection of an exchange. Its descriptor is a duplicate that the Go runtime does not know, because
// the runtime would wake one of its threads for every reply, too.
type socket struct {
	*exchange
	fd     int
	index  int32 // in the driver's conns
	unsent []byte
	ended  bool
	// waiting is the event that epoll waits for: EPOLLOUT while the server does not read a large request, else EPOLLIN.
	waiting uint32
	reply   reply
}

func newDriver(exchanges []*exchange) (*driver, error) {
	d := &driver{}
	var err error
	if d.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return d, os.NewSyscallError("epoll_create1", err)
	}
	for i, x := range exchanges {
		fd, err := detach(x.conn)
		if err != nil {
			return d, err
		}
		c := &socket{exchange: x, fd: fd, index: int32(i), waiting: unix.EPOLLIN, reply: newReply()}
		d.conns = append(d.conns, c)
		d.active++
		if err := d.control(unix.EPOLL_CTL_ADD, c); err != nil {
			return d, err
		}
	}
	return d, nil
}

// detach returns a duplicate of the connection's descriptor and closes the connection, which removes it from the
// runtime's own epoll instance.
func detach(conn net.Conn) (fd int, err error) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return -1, errors.New("not a TCP connection")
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return -1, err
	}
	var dupErr error
	err = raw.Control(func(original uintptr) { fd, dupErr = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, os.NewSyscallError("fcntl", dupErr)); err != nil {
		return -1, err
	}
	_ = tcp.Close()
	return fd, nil
}

func (d *driver) close() {
	for _, c := range d.conns {
		_ = unix.Close(c.fd)
	}
	_ = unix.Close(d.epoll)
}

// control registers, changes or removes the event that epoll waits for.
func (d *driver) control(op int, c *socket) error {
	event := unix.EpollEvent{Events: c.waiting, Fd: c.index}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(d.epoll, op, c.fd, &event))
}

// send starts the next request, unless the load has ended.
func (d *driver) send(c *socket, now time.Time) error {
	if !c.next(now) {
		d.active--
		c.ended = true
		// A connection that the server closes now would wake epoll again and again.
		return d.control(unix.EPOLL_CTL_DEL, c)
	}
	c.reply.reset()
	c.unsent = c.raw
	return d.flush(c)
}

// flush writes the rest of a request. If the server does not read it, epoll waits until it does.
func (d *driver) flush(c *socket) error {
	for len(c.unsent) > 0 {
		n, err := unix.Write(c.fd, c.unsent)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return d.wait(c, unix.EPOLLOUT)
		case err != nil:
			return c.finish(time.Now(), 0, nil, os.NewSyscallError("write", err))
		default:
			c.unsent = c.unsent[n:]
		}
	}
	return d.wait(c, unix.EPOLLIN)
}

func (d *driver) wait(c *socket, event uint32) error {
	if c.waiting == event {
		return nil
	}
	c.waiting = event
	return d.control(unix.EPOLL_CTL_MOD, c)
}

// ready handles an event of a connection. It reads once: if there is more to read, epoll returns the connection again.
func (d *driver) ready(c *socket) error {
	if len(c.unsent) > 0 {
		return d.flush(c)
	}
	n, err := unix.Read(c.fd, c.reply.space())
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return nil
	case err != nil:
		return c.finish(time.Now(), 0, nil, os.NewSyscallError("read", err))
	case n == 0:
		return c.finish(time.Now(), 0, nil, c.reply.incomplete(io.EOF))
	}
	done, err := c.reply.received(n)
	if !done && err == nil {
		return nil
	}
	now := time.Now()
	if err := c.finish(now, c.reply.status, c.reply.body(), err); err != nil {
		return err
	}
	return d.send(c, now)
}

// late returns the error of a connection whose reply did not arrive in time.
func (d *driver) late() error {
	for _, c := range d.conns {
		if !c.ended {
			return c.finish(time.Now(), 0, nil, os.ErrDeadlineExceeded)
		}
	}
	return os.ErrDeadlineExceeded
}
