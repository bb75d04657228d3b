package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// sleepers are the waiting turns. One goroutine reports their number to the model, instead of a connection for each,
// because the test measures the memory of a turn and not of a connection.
type sleepers struct {
	url     string
	client  *http.Client
	asleep  atomic.Int64
	report  sync.Once
	wakeAll sync.Once
	wake    chan struct{}
}

// sleep waits until the model wakes all turns, or the run ends.
func (s *sleepers) sleep(ctx context.Context) error {
	// The reports belong to the process: they end with it.
	s.report.Do(func() { go s.reports(context.WithoutCancel(ctx)) })
	s.asleep.Add(1)
	defer s.asleep.Add(-1)
	select {
	case <-s.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reportEvery is the resolution with which a test sees who sleeps.
const reportEvery = 10 * time.Millisecond

// report is sent to the model. Memory is in bytes, after a garbage collection, and only set when requested.
type report struct {
	Asleep int64  `json:"asleep"`
	Memory uint64 `json:"memory,omitempty"`
}

// orders are the model's reply to a report.
type orders struct {
	Measure bool `json:"measure"`
	Wake    bool `json:"wake"`
}

func (s *sleepers) reports(ctx context.Context) {
	var next report
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		next.Asleep = s.asleep.Load()
		o, err := s.send(ctx, next)
		next = report{}
		if err == nil && o.Wake {
			s.wakeAll.Do(func() { close(s.wake) })
		}
		if err == nil && o.Measure {
			next.Memory = memory()
		}
	}
}

func (s *sleepers) send(ctx context.Context, r report) (o orders, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return o, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/asleep", bytes.NewReader(body))
	if err != nil {
		return o, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return o, err
	}
	defer func() { _ = resp.Body.Close() }()
	return o, json.NewDecoder(resp.Body).Decode(&o)
}

// memory returns the memory in use: the heap and the goroutine stacks.
func memory() uint64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
