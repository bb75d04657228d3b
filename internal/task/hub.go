package task

import "sync"

// hub wakes those who follow a task or a key on this node. A wake-up says only "look again": the database is the
// truth. Someone who registers before looking can't miss what happens after the look.
type hub struct {
	mu     sync.Mutex
	topics map[topic]*watch
}

// topic is a task's id or, for those who follow all tasks of a key, the key.
type topic struct {
	key  bool
	name string
}

// watch is the watchers of one topic.
type watch struct {
	watchers int
	// changed is closed and replaced at every wake-up.
	changed chan struct{}
	// ended is the task as it was when its run ended here; it saves the waiters a look.
	ended *Task
	// seen is what the last poll found.
	seen   Mark
	polled bool
}

func newHub() *hub { return &hub{topics: map[topic]*watch{}} }

// watch registers a watcher, who must call the returned function at the end.
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

// next returns the channel of the next wake-up and, if its run has ended here, the task.
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

// watched returns the topics that have watchers: ids of tasks, and keys.
func (h *hub) watched() (ids, keys []string) {
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

// poll takes what a poll found of a topic and wakes its watchers if it is news. The end of a task is news every time:
// the look that followed the last wake-up may have failed.
func (h *hub) poll(t topic, m Mark, found bool) {
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
