package importer

import (
	"time"

	"carrel/internal/source"
)

// Report is the progress of an import.
type Report struct {
	Files     FileCounts     `json:"files"`
	Bytes     ByteCounts     `json:"bytes"`
	Documents DocumentCounts `json:"documents"`
	// Errors are the first maxReportedProblems problems; Failed counts all of them.
	Errors []Problem `json:"errors,omitempty"`
	Failed int       `json:"failed"`
	// Current is the file being imported.
	Current string `json:"current,omitempty"`
	// ETASeconds estimates the remaining time; 0 means unknown.
	ETASeconds int `json:"etaSeconds,omitempty"`
}

// FileCounts counts files.
type FileCounts struct {
	Total     int `json:"total"`
	Done      int `json:"done"`
	Unchanged int `json:"unchanged"`
	Failed    int `json:"failed"`
	Removed   int `json:"removed"`
}

// ByteCounts counts bytes.
type ByteCounts struct {
	Total int64 `json:"total"`
	Done  int64 `json:"done"`
}

// DocumentCounts counts documents.
type DocumentCounts struct {
	Added     int `json:"added"`
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	Deleted   int `json:"deleted"`
}

// Problem is a file or record that could not be imported.
type Problem struct {
	File string `json:"file"`
	// Reason describes the problem and its place in the file.
	Reason string `json:"reason"`
}

const maxReportedProblems = 50

func (r *Report) problem(file, reason string) {
	r.Failed++
	if len(r.Errors) < maxReportedProblems {
		r.Errors = append(r.Errors, Problem{File: file, Reason: reason})
	}
}

// add adds the result of one file.
func (r *Report) add(o fileResult) {
	r.Files.Done++
	r.Bytes.Done += o.Size
	r.Documents.Added += o.Documents.Added
	r.Documents.Updated += o.Documents.Updated
	r.Documents.Unchanged += o.Documents.Unchanged
	r.Documents.Deleted += o.Documents.Deleted
	switch {
	case o.Error != "":
		r.Files.Failed++
		r.problem(o.Name, o.Error)
	case o.Unchanged:
		r.Files.Unchanged++
	}
	if o.Removed {
		r.Files.Removed++
	}
	for _, p := range o.Problems {
		r.problem(o.Name, p)
	}
	r.Failed += o.Skipped - len(o.Problems)
}

// estimate sets ETASeconds from the throughput so far.
func (r *Report) estimate(took time.Duration, extra int64) {
	done := r.Bytes.Done + extra
	r.ETASeconds = 0
	if done <= 0 || r.Bytes.Total <= done || took < time.Second {
		return
	}
	rest := float64(r.Bytes.Total-done) / float64(done) * took.Seconds()
	r.ETASeconds = max(1, int(min(rest, 1e6)))
}

// fileResult is the outcome of one file. The journal stores it as JSON.
type fileResult struct {
	Name string `json:"name,omitempty"`
	Size int64  `json:"size,omitempty"`
	// Unchanged marks a file whose content is already imported, Removed a file that was deleted with its documents.
	Unchanged bool `json:"same,omitempty"`
	Removed   bool `json:"removed,omitempty"`
	// Error is the reason why nothing could be read. Problems holds the first of the Skipped records.
	Error     string         `json:"error,omitempty"`
	Problems  []string       `json:"problems,omitempty"`
	Skipped   int            `json:"skipped,omitempty"`
	Documents DocumentCounts `json:"documents,omitzero"`
	// End marks an empty queue. QuotaDetail is set when the storage limit ended the import.
	End         bool   `json:"end,omitempty"`
	QuotaDetail string `json:"full,omitempty"`
}

// outcome returns the Outcome of a file whose last state is old, the zero File if it is new. A file that had no
// documents until now is added.
func (o *fileResult) outcome(old File) string {
	switch {
	case o.Error != "":
		return OutcomeFailed
	case o.Unchanged:
		return OutcomeUnchanged
	case old.Documents == 0:
		return OutcomeAdded
	}
	return OutcomeUpdated
}

func (o *fileResult) skip(reason string) {
	o.Skipped++
	if len(o.Problems) < maxReportedProblems {
		o.Problems = append(o.Problems, reason)
	}
}

func (o *fileResult) setImported(i source.Imported) {
	o.Documents.Added, o.Documents.Updated, o.Documents.Unchanged = i.Added, i.Updated, i.Unchanged
}
