package config

// maxKeepDays is a hundred years.
const maxKeepDays = 36500

// Retention are the days for which records are kept; 0 means for ever.
type Retention struct {
	// TaskDays is for ended tasks with their steps and events. The last task of a thread is kept longer.
	TaskDays int
	// LedgerDays is for the single calls in the ledger. Older ones are rolled up by day.
	LedgerDays int
	// BinDays is for deleted threads, memories, favourites and documents; 0 means that they are deleted at once.
	BinDays int
	// AuditDays is for the entries of the audit log.
	AuditDays int
}
