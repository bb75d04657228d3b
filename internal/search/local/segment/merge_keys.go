package segment

// keyTables lists the three key tables and their sections.
var keyTables = []struct {
	table        func(*Segment) *keyTable
	count        func(*meta) *uint64 // nil if it is the number of documents
	hashes, docs sectionID
}{
	{func(s *Segment) *keyTable { return &s.idKeys }, nil, secIDHashes, secIDDocs},
	{
		func(s *Segment) *keyTable { return &s.titleKeys }, func(m *meta) *uint64 { return &m.titles },
		secTitleHashes, secTitleDocs,
	},
	{
		func(s *Segment) *keyTable { return &s.doiKeys }, func(m *meta) *uint64 { return &m.dois },
		secDOIHashes, secDOIDocs,
	},
}

// planKeys counts the surviving keys.
func (m *merger) planKeys() error {
	for _, kind := range keyTables {
		if kind.count == nil {
			continue
		}
		for i, in := range m.inputs {
			table := kind.table(in.Segment)
			docs, err := table.docs.slice(0, table.docs.len())
			if err != nil {
				return err
			}
			for _, doc := range docs {
				if m.docs[i][doc] != gone {
					*kind.count(&m.out)++
				}
			}
		}
	}
	return nil
}

// keyCursor iterates over the surviving keys of an input.
type keyCursor struct {
	key    // current key, with its new number
	hashes []uint64
	docs   []uint32
	to     []uint32
}

func (c *keyCursor) next() bool {
	for len(c.docs) > 0 {
		c.hash, c.doc = c.hashes[0], c.to[c.docs[0]]
		c.hashes, c.docs = c.hashes[1:], c.docs[1:]
		if c.doc != gone {
			return true
		}
	}
	return false
}

func (m *merger) writeKeys(w *fileWriter) error {
	for _, kind := range keyTables {
		queue := queue[*keyCursor]{less: func(a, b *keyCursor) bool { return a.compare(b.key) < 0 }}
		for i, in := range m.inputs {
			table := kind.table(in.Segment)
			docs, err := table.docs.slice(0, table.docs.len())
			if err != nil {
				return err
			}
			hashes, err := table.hashes.slice(0, table.hashes.len())
			if err != nil {
				return err
			}
			if c := (&keyCursor{hashes: hashes, docs: docs, to: m.docs[i]}); c.next() {
				queue.push(c)
			}
		}
		hashes, docs := w.section(kind.hashes), w.section(kind.docs)
		for len(queue.items) > 0 {
			if err := m.step(); err != nil {
				return err
			}
			c := queue.items[0]
			hashes.uint64(c.hash)
			docs.uint32(c.doc)
			queue.settle(c.next())
		}
	}
	return nil
}

// queue is a heap of cursors, least first. In contrast to container/heap, advancing the first cursor is one cheap
// operation.
type queue[T any] struct {
	items []T
	less  func(a, b T) bool
}

func (q *queue[T]) push(v T) {
	q.items = append(q.items, v)
	for i := len(q.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q.less(q.items[i], q.items[parent]) {
			return
		}
		q.items[i], q.items[parent] = q.items[parent], q.items[i]
		i = parent
	}
}

// settle restores the order after the first cursor has advanced, or removes the cursor if it is exhausted.
func (q *queue[T]) settle(more bool) {
	if !more {
		last := len(q.items) - 1
		q.items[0] = q.items[last]
		q.items = q.items[:last]
	}
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(q.items) {
			return
		}
		if child+1 < len(q.items) && q.less(q.items[child+1], q.items[child]) {
			child++
		}
		if !q.less(q.items[child], q.items[i]) {
			return
		}
		q.items[i], q.items[child] = q.items[child], q.items[i]
		i = child
	}
}
