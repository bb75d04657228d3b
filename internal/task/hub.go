package task

import "sync"

// hub wakes the watchers of tasks and keys on this node. A wake-up carries no data; watchers read the database again. A
// watcher that registers before it reads cannot miss a later change.
type hub struct {
	mu     sync.Mutex
	topics map[topic]*watch
}

// topic is a task id, or a key for watchers of all its tasks.
type topic struct {
	key  bool
	name string
}

// watch is the state shared by the watchers of one topic.
type watch struct {
	watchers int
	// changed is closed and replaced at every wake-up.
	changed chan struct{}
	// ended is the task after its run ended on this node. It saves the watchers a read.
	ended *Task
	// seen is the result of the last poll.
	seen   Progress
	polled bool
}

func newHub() *hub { return &hub{topics: map[topic]*watch{}} }

// watch registers a watcher. The caller must call the returned function when done.
func (h *hub) watch(t topic) (*watch, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.topics[t]
	if w == nil {
		w = &watch{changed: make(chan struct{})}
		h.topics[t] = w
	}
	w.watchers++
	return w, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if w.watchers--; w.watchers == 0 {
			delete(h.topics, t)
		}
	}
}

// next returns the channel that is closed at the next wake-up and, if its run has ended on this node, the task.
func (h *hub) next(w *watch) (<-chan struct{}, *Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return w.changed, w.ended
}

// wake wakes the watchers of a task and of its key. ended is the task if it has ended, else nil.
func (h *hub) wake(id, key string, ended *Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.signal(topic{name: id}, ended)
	h.signal(topic{key: true, name: key}, nil)
}

// signal wakes one topic. The caller holds mu.
func (h *hub) signal(t topic, ended *Task) {
	w := h.topics[t]
	if w == nil {
		return
	}
	if ended != nil {
		w.ended = ended
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// watchedTopics returns the task ids and keys that have watchers.
func (h *hub) watchedTopics() (ids, keys []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for t, w := range h.topics {
		switch {
		case t.key:
			keys = append(keys, t.name)
		case w.ended == nil:
			ids = append(ids, t.name)
		}
	}
	return ids, keys
}

// lastPoll returns the result of the last poll of a topic.
func (h *hub) lastPoll(w *watch) Progress {
	h.mu.Lock()
	defer h.mu.Unlock()
	return w.seen
}

// poll wakes the watchers of a topic if a poll result differs from the last one. The end of a task wakes them every
// time, because the read after an earlier wake-up may have failed.
func (h *hub) poll(t topic, m Progress, found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.topics[t]
	if w == nil {
		return
	}
	if !w.polled || w.seen != m || m.Ended || !found {
		w.seen, w.polled = m, true
		h.signal(t, nil)
	}
}
