package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/internal/search/local"
	"carrel/internal/task"
)

// scrapeTimeout limits counting the tasks.
const scrapeTimeout = 2 * time.Second

// taskMetrics exports the tasks of the installation and the outcomes of tasks on this node.
type taskMetrics struct {
	tasks *task.Engine
	log   *slog.Logger

	queued, running, oldest, here      *prometheus.Desc
	started, resumed, finished, failed *prometheus.Desc
}

func newTaskMetrics(tasks *task.Engine, log *slog.Logger) *taskMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("carrel_tasks_"+name, help, labels, nil)
	}
	return &taskMetrics{
		tasks: tasks, log: log,
		queued:   desc("queued", "Queued tasks of the whole installation."),
		running:  desc("running", "Running tasks of the whole installation."),
		oldest:   desc("oldest_queued_seconds", "Age of the oldest queued task."),
		here:     desc("running_here", "Running tasks of this node."),
		started:  desc("started_total", "Task runs started on this node."),
		resumed:  desc("resumed_total", "Task runs that resumed an interrupted task."),
		finished: desc("finished_total", "Tasks ended on this node, by final state.", "state"),
		failed:   desc("failed_total", "Tasks failed on this node, by reason.", "reason"),
	}
}

// Describe lists the metrics.
func (m *taskMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		m.queued, m.running, m.oldest, m.here, m.started, m.resumed, m.finished, m.failed,
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
		gauge(m.queued, float64(s.Queued))
		gauge(m.running, float64(s.Running))
		gauge(m.oldest, s.Oldest.Seconds())
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

// indexMetrics shows the search index of this node.
type indexMetrics struct {
	node                                         *local.Node
	documents, deleted, segments, bytes, missing *prometheus.Desc
}

func newIndexMetrics(node *local.Node) *indexMetrics {
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
	}
}

// Describe lists the metrics.
func (m *indexMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.documents, m.deleted, m.segments, m.bytes, m.missing} {
		ch <- d
	}
}

// Collect looks at the index now.
func (m *indexMetrics) Collect(ch chan<- prometheus.Metric) {
	s := m.node.Index().Status()
	for d, v := range map[*prometheus.Desc]float64{
		m.documents: float64(s.Documents), m.deleted: float64(s.Deleted), m.segments: float64(s.Segments),
		m.bytes: float64(s.Bytes), m.missing: float64(m.node.Progress().Missing),
	} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
}
