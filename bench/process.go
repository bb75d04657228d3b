package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
	// clockTick is the unit of times in /proc/PID/stat, which is always 1/100 s in Linux user space.
	clockTick = 10 * time.Millisecond
)

// process is a server started by this program.
type process struct {
	name string
	ends syscall.Signal // signal that ends it
	cmd  *exec.Cmd
	logs string        // log file
	done chan struct{} // closed when it has ended
	err  error         // how it ended; valid once done is closed
	// ready is the time from the start of the program to the first 200.
	ready time.Duration
}

// startProcess runs a server and waits until healthURL answers 200.
func startProcess(ctx context.Context, name, logs, healthURL string, cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = dieWithParent()
	p := &process{name: name, ends: syscall.SIGTERM, cmd: cmd, logs: logs}
	return p, p.start(ctx, answersOK(healthURL))
}

// start runs the command and waits until ready returns true.
func (p *process) start(ctx context.Context, ready func(context.Context) bool) error {
	out, err := os.OpenFile(p.logs, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close() // the child has its own copy
	p.cmd.Stdout, p.cmd.Stderr = out, out

	began := time.Now()
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.done = make(chan struct{})
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	if err := p.waitReady(ctx, ready); err != nil {
		p.stop()
		return fmt.Errorf("%s: %w\n%s", p.name, err, p.logTail())
	}
	p.ready = time.Since(began)
	return nil
}

// answersOK reports whether a URL replies 200.
func answersOK(url string) func(context.Context) bool {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return func(ctx context.Context) bool {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false
		}
		resp, err := client.Do(req)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
}

// waitReady polls every half millisecond: a start takes tens of milliseconds, and a refused connection on loopback is
// cheap.
func (p *process) waitReady(ctx context.Context, ready func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if ready(ctx) {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("ended before it was ready: %w", errors.Join(p.err, errors.New("it never answered")))
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", ctx.Err())
		case <-time.After(500 * time.Microsecond):
		}
	}
}

// stop ends the process with its signal, and kills it after stopTimeout.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(p.ends)
	p.resume() // a paused process does not handle other signals
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// kill ends the process with SIGKILL, as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// logTail returns the end of the log for an error message.
func (p *process) logTail() string {
	raw, err := os.ReadFile(p.logs)
	if err != nil {
		return ""
	}
	const keep = 2000
	if len(raw) > keep {
		raw = raw[len(raw)-keep:]
	}
	return string(raw)
}

func (p *process) residentBytes() (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return parseStatus(raw, "VmRSS:")
}

func (p *process) peakBytes() (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return parseStatus(raw, "VmHWM:")
}

// cpuTime returns the user and system time since the start.
func (p *process) cpuTime() (time.Duration, error) { return cpuTimeOf(p.cmd.Process.Pid) }

func cpuTimeOf(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	own, _, _, err := parseStat(raw)
	return own, err
}

// familyCPUTime returns the user and system time of a process and its children. A child that has ended and was waited
// for counts with its parent.
func familyCPUTime(pid int) (time.Duration, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		own, waited, parent, err := parseStat(raw)
		if err != nil {
			return 0, err
		}
		switch strconv.Itoa(pid) {
		case entry.Name():
			total += own + waited
		case parent:
			total += own
		}
	}
	return total, nil
}

// parseStatus returns a size from /proc/PID/status.
func parseStatus(status []byte, name string) (int64, error) {
	for line := range bytes.Lines(status) {
		rest, ok := bytes.CutPrefix(line, []byte(name))
		if !ok {
			continue
		}
		fields := strings.Fields(string(rest))
		if len(fields) != 2 || fields[1] != "kB" {
			break
		}
		kib, err := strconv.ParseInt(fields[0], 10, 64)
		return kib << 10, err
	}
	return 0, errors.New("no " + name + " in the process status")
}

// parseStat returns the processor time of a process and of the children that it waited for, and the id of its parent,
// from /proc/PID/stat. The program name is in parentheses and may contain any character, so fields are counted after
// it.
func parseStat(stat []byte) (own, waited time.Duration, parent string, err error) {
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if end < 0 || len(fields) < 15 {
		return 0, 0, "", errors.New("unknown format of the process statistics")
	}
	var ticks [4]int64 // user and system time, its own and of its children
	for i := range ticks {
		if ticks[i], err = strconv.ParseInt(fields[11+i], 10, 64); err != nil {
			return 0, 0, "", err
		}
	}
	return time.Duration(ticks[0]+ticks[1]) * clockTick, time.Duration(ticks[2]+ticks[3]) * clockTick, fields[1], nil
}

// scrape returns one value of a Prometheus text page.
func scrape(ctx context.Context, addr, metric string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("metrics: %s", resp.Status)
	}
	var page bytes.Buffer
	if _, err := page.ReadFrom(http.MaxBytesReader(nil, resp.Body, 4<<20)); err != nil {
		return 0, err
	}
	return parseMetric(page.Bytes(), metric)
}

// parseMetric returns the value of a metric without labels.
func parseMetric(page []byte, metric string) (float64, error) {
	for line := range bytes.Lines(page) {
		if rest, ok := bytes.CutPrefix(line, []byte(metric+" ")); ok {
			return strconv.ParseFloat(string(bytes.TrimSpace(rest)), 64)
		}
	}
	return 0, fmt.Errorf("metrics: no %s", metric)
}

// freeAddr returns an unused loopback address.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// cleanEnv returns the environment without variables that would tune a runtime or a server.
func cleanEnv(add ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "CARREL_") || strings.HasPrefix(name, "GOGC") ||
			name == "GOMEMLIMIT" || name == "GODEBUG" || name == "GOMAXPROCS" {
			continue
		}
		env = append(env, kv)
	}
	return append(env, add...)
}
