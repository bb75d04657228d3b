package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/internal/store"
	"carrel/internal/streamwatch"
	"carrel/internal/task"
)

// scrapeTimeout limits counting the tasks.
const scrapeTimeout = 2 * time.Second

// taskMetrics exports the tasks of the installation and the outcomes of tasks on this node.
type taskMetrics struct {
	tasks *task.Engine
	log   *slog.Logger

	queued, running, here              *prometheus.Desc
	oldestQueued, oldestRunning        *prometheus.Desc
	started, resumed, finished, failed *prometheus.Desc
}

func newTaskMetrics(tasks *task.Engine, log *slog.Logger) *taskMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("carrel_tasks_"+name, help, labels, nil)
	}
	return &taskMetrics{
		tasks: tasks, log: log,
		queued:        desc("queued", "Queued tasks of the whole installation, by kind.", "kind"),
		running:       desc("running", "Running tasks of the whole installation, by kind.", "kind"),
		oldestQueued:  desc("oldest_queued_seconds", "How long the oldest task has been ready to run, by kind.", "kind"),
		oldestRunning: desc("oldest_running_seconds", "Time since the start of the oldest running task, by kind.", "kind"),
		here:          desc("running_here", "Running tasks of this node."),
		started:       desc("started_total", "Task runs started on this node."),
		resumed:       desc("resumed_total", "Task runs that resumed an interrupted task."),
		finished:      desc("finished_total", "Tasks ended on this node, by final state.", "state"),
		failed:        desc("failed_total", "Tasks failed on this node, by reason.", "reason"),
	}
}

// Describe lists the metrics.
func (m *taskMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		m.queued, m.running, m.oldestQueued, m.oldestRunning, m.here, m.started, m.resumed, m.finished, m.failed,
	} {
		ch <- d
	}
}

// Collect counts the tasks. If the database does not answer, it still exports the counters of this node.
func (m *taskMetrics) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	s, err := m.tasks.Stats(ctx)
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	if err != nil {
		m.log.WarnContext(ctx, "counting tasks failed", slog.Any("error", err))
	} else {
		// Kinds without tasks are exported with 0. Unknown kinds belong to another version and are left out.
		for _, kind := range m.tasks.Kinds() {
			k := s.Kinds[kind]
			gauge(m.queued, float64(k.Queued), kind)
			gauge(m.running, float64(k.Running), kind)
			gauge(m.oldestQueued, k.OldestQueued.Seconds(), kind)
			gauge(m.oldestRunning, k.OldestRunning.Seconds(), kind)
		}
	}
	gauge(m.here, float64(s.RunningHere))
	counter(m.started, s.Started)
	counter(m.resumed, s.Resumed)
	failed := int64(0)
	for reason, n := range s.Failed {
		counter(m.failed, n, reason)
		failed += n
	}
	counter(m.finished, s.Complete, string(task.StateComplete))
	counter(m.finished, s.Cancelled, string(task.StateCancelled))
	counter(m.finished, failed, string(task.StateFailed))
}

// indexMetrics shows the search index of this node, or the shared index of all nodes.
type indexMetrics struct {
	node                                                         searchNode
	documents, deleted, segments, bytes, missing, lag, available *prometheus.Desc
}

func newIndexMetrics(node searchNode) *indexMetrics {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("carrel_index_"+name, help, nil, nil)
	}
	return &indexMetrics{
		node:      node,
		documents: desc("documents", "Documents that searches on this node find."),
		deleted:   desc("deleted_documents", "Deleted documents that are still in the files of the index."),
		segments:  desc("segments", "Files of the index that hold documents."),
		bytes:     desc("bytes", "Size of these files."),
		missing:   desc("missing_changes", "Changes of documents that the index does not hold yet."),
		lag:       desc("lag_seconds", "Time since the index last held every change; 0 if it does now."),
		available: desc("available", "1 if the last attempt to read or write the index succeeded, 0 if it failed."),
	}
}

// Describe lists the metrics.
func (m *indexMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.documents, m.deleted, m.segments, m.bytes, m.missing, m.lag, m.available} {
		ch <- d
	}
}

// Collect looks at the index now.
func (m *indexMetrics) Collect(ch chan<- prometheus.Metric) {
	s, p := m.node.Engine().Status(), m.node.Progress()
	available := 0.0
	if p.Error == nil {
		available = 1
	}
	for d, v := range map[*prometheus.Desc]float64{
		m.documents: float64(s.Documents), m.deleted: float64(s.Deleted), m.segments: float64(s.Segments),
		m.bytes: float64(s.Bytes), m.missing: float64(p.Missing), m.lag: p.Behind.Seconds(),
		m.available: available,
	} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
}

// databaseMetrics shows the writes and the connections of the database.
type databaseMetrics struct {
	db                                      *store.DB
	statements, writes, commits, failures   *prometheus.Desc
	connections, maximum, waits, waitedTime *prometheus.Desc
}

func newDatabaseMetrics(db *store.DB) *databaseMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("carrel_database_"+name, help, labels, nil)
	}
	return &databaseMetrics{
		db: db,
		statements: desc("statements_total",
			"SQL statements of this node, with those that begin and end transactions."),
		writes:   desc("writes_total", "Writes of this node."),
		commits:  desc("commits_total", "Commits of this node. On SQLite several writes share a commit."),
		failures: desc("write_failures_total", "Writes that the database did not accept, such as with a full disk."),
		connections: desc("pool_connections", "Connections of this node, by state. On SQLite those for reading.",
			"state"),
		maximum:    desc("pool_max_connections", "Maximum number of these connections."),
		waits:      desc("pool_waits_total", "Times that all connections were in use and a query waited."),
		waitedTime: desc("pool_wait_seconds_total", "Time that queries have waited for a connection."),
	}
}

// Describe lists the metrics.
func (m *databaseMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		m.statements, m.writes, m.commits, m.failures, m.connections, m.maximum, m.waits, m.waitedTime,
	} {
		ch <- d
	}
}

// Collect reads the counters.
func (m *databaseMetrics) Collect(ch chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, t, v, labels...)
	}
	s, p := m.db.Stats(), m.db.Pool()
	send(m.statements, prometheus.CounterValue, float64(s.Statements))
	send(m.writes, prometheus.CounterValue, float64(s.Writes))
	send(m.commits, prometheus.CounterValue, float64(s.Commits))
	send(m.failures, prometheus.CounterValue, float64(s.Failed))
	send(m.connections, prometheus.GaugeValue, float64(p.InUse), "in_use")
	send(m.connections, prometheus.GaugeValue, float64(p.Idle), "idle")
	send(m.maximum, prometheus.GaugeValue, float64(p.MaxOpenConnections))
	send(m.waits, prometheus.CounterValue, float64(p.WaitCount))
	send(m.waitedTime, prometheus.CounterValue, p.WaitDuration.Seconds())
}

// diskMetrics shows the disk of the data folder.
type diskMetrics struct {
	dir        string
	free, size *prometheus.Desc
}

func newDiskMetrics(dir string) *diskMetrics {
	return &diskMetrics{
		dir:  dir,
		free: prometheus.NewDesc("carrel_data_free_bytes", "Free space of the disk that holds the data folder.", nil, nil),
		size: prometheus.NewDesc("carrel_data_disk_bytes", "Size of the disk that holds the data folder.", nil, nil),
	}
}

// Describe lists the metrics.
func (m *diskMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.free
	ch <- m.size
}

// Collect measures the disk. If that fails, the metrics are missing.
func (m *diskMetrics) Collect(ch chan<- prometheus.Metric) {
	free, size, err := DiskSpace(m.dir)
	if err != nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(m.free, prometheus.GaugeValue, float64(free))
	ch <- prometheus.MustNewConstMetric(m.size, prometheus.GaugeValue, float64(size))
}

// collectors returns the metrics of a server besides those of its requests.
func (in *App) collectors(index searchNode, streams *streamwatch.Slots, log *slog.Logger) []prometheus.Collector {
	open := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "carrel_streams_open", Help: "Open event streams of this node, of turns, imports and MCP together.",
	}, func() float64 { return float64(streams.Open()) })
	all := append(in.meters.collectors(), newTaskMetrics(in.Tasks, log), newIndexMetrics(index),
		newDatabaseMetrics(in.Store), newDiskMetrics(in.Config.Data), open)
	if in.tracer != nil {
		all = append(all, in.tracer.Collectors()...)
	}
	if in.backups != nil {
		all = append(all, newBackupMetrics(in))
	}
	return all
}
