package app

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"carrel/internal/backup"
	"carrel/internal/blob"
	"carrel/internal/config"
	"carrel/internal/core"
	"carrel/internal/s3"
)

// backupTaskLife is how long the records of scheduled backups are kept. It is longer than the longest interval.
const backupTaskLife = 30 * 24 * time.Hour

// newBucketClient returns a client for a bucket of the operator, whose address may be private, and a function that
// closes its connections.
func newBucketClient() (client *http.Client, closeIdle func()) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, transport.CloseIdleConnections
}

// BackupTarget returns the place of backups in the settings. The caller calls closeIdle at the end.
func BackupTarget(b config.Backup) (target *backup.Target, closeIdle func(), err error) {
	name, prefix, isBucket := b.Bucket()
	if !isBucket {
		return backup.NewFolder(b.Place), func() {}, nil
	}
	client, closeIdle := newBucketClient()
	bucket, err := s3.Open(s3.Options{
		Client: client, Bucket: name, Endpoint: b.Endpoint, Region: b.Region, KeyID: b.AccessKeyID,
		Secret: b.SecretAccessKey, Now: time.Now, Wait: wait, UserAgent: "Carrel",
	})
	if err != nil {
		return nil, nil, err
	}
	return backup.NewBucket(bucket, prefix), closeIdle, nil
}

// OriginalsStorage returns the storage of original files in the settings. The caller calls closeIdle at the end.
func OriginalsStorage(cfg config.Config) (storage blob.Storage, closeIdle func(), err error) {
	o := cfg.Originals
	if o.Bucket == "" {
		return blob.NewFolder(filepath.Join(cfg.Data, originalsFolder)), func() {}, nil
	}
	client, closeIdle := newBucketClient()
	bucket, err := s3.Open(s3.Options{
		Client: client, Bucket: o.Bucket, Endpoint: o.Endpoint, Region: o.Region, KeyID: o.AccessKeyID,
		Secret: o.SecretAccessKey, Now: time.Now, Wait: wait, UserAgent: "Carrel",
	})
	if err != nil {
		return nil, nil, err
	}
	return blob.NewBucket(bucket, o.Prefix), closeIdle, nil
}

// NewBackups returns the service that makes backups of the installation.
func (in *App) NewBackups(b config.Backup, log *slog.Logger) (*backup.Service, error) {
	target, closeIdle, err := BackupTarget(b)
	if err != nil {
		return nil, err
	}
	in.closers = append(in.closers, closeIdle)
	key, included := in.keys.fingerprint()
	return backup.NewService(backup.Deps{
		Database: in.Store, Originals: in.originals, Target: target, Clock: in.Clock, Audit: in.Audit, Log: log,
		Staging: in.Config.Data,
	}, backup.Options{Version: Version(), Key: key, KeyIncluded: included, Every: b.Every, Keep: b.Keep}), nil
}

// wireBackups creates the scheduled backups, if they are configured.
func (in *App) wireBackups(cfg config.Config, log *slog.Logger) error {
	if cfg.Backup.Place == "" {
		return nil
	}
	service, err := in.NewBackups(cfg.Backup, log)
	if err != nil {
		return err
	}
	in.backups = service
	in.backupSchedule = backup.NewScheduler(service, in.Tasks, in.Store.LatestTask)
	in.Tasks.Register(in.backupSchedule.Kind())
	return nil
}

// runBackups makes scheduled backups until the context ends, if they are configured.
func (in *App) runBackups(ctx context.Context) error {
	if in.backupSchedule == nil {
		return nil
	}
	return in.backupSchedule.Run(ctx)
}

// backupMetrics exports the scheduled backups.
type backupMetrics struct {
	in                              *App
	last, bytes, duration, failures *prometheus.Desc
}

func newBackupMetrics(in *App) *backupMetrics {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("carrel_backup_"+name, help, nil, nil)
	}
	return &backupMetrics{
		in: in,
		last: desc("last_success_timestamp_seconds",
			"End of the last scheduled backup of the installation; 0 if there is none."),
		bytes:    desc("last_bytes", "Size of the database copy in the last backup of this node."),
		duration: desc("last_duration_seconds", "Time that the last backup of this node took."),
		failures: desc("failures_total", "Failed backups of this node."),
	}
}

// Describe lists the metrics.
func (m *backupMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.last, m.bytes, m.duration, m.failures} {
		ch <- d
	}
}

// Collect reads the last backup. If the database does not answer, it still exports the counters of this node.
func (m *backupMetrics) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	at, err := m.in.Store.LastBackup(ctx)
	switch {
	case err == nil:
		gauge(m.last, float64(at.Unix()))
	case core.IsKind(err, core.KindNotFound):
		gauge(m.last, 0)
	}
	s := m.in.backups.Stats()
	gauge(m.bytes, float64(s.LastBytes))
	gauge(m.duration, s.LastDuration.Seconds())
	ch <- prometheus.MustNewConstMetric(m.failures, prometheus.CounterValue, float64(s.Failed))
}
