package importer

import (
	"time"

	"carrel/internal/source"
)

// Report is what an import has done so far.
type Report struct {
	Files     FileCounts     `json:"files"`
	Bytes     ByteCounts     `json:"bytes"`
	Documents DocumentCounts `json:"documents"`
	// Errors are the first of what could not be read; Failed counts all of them.
	Errors []Problem `json:"errors,omitempty"`
	Failed int       `json:"failed"`
	// Current is the file that is being read.
	Current string `json:"current,omitempty"`
	// ETASeconds is how long the rest will take, as far as is known; 0 when it is not.
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

// Problem is something that could not be read.
type Problem struct {
	File string `json:"file"`
	// Reason says what is wrong with it, and where.
	Reason string `json:"reason"`
}

// maxProblems is how many problems a report tells one by one.
const maxReportedProblems = 50

func (r *Report) problem(file, reason string) {
	r.Failed++
	if len(r.Errors) < maxReportedProblems {
		r.Errors = append(r.Errors, Problem{File: file, Reason: reason})
	}
}

// add takes what became of one file.
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

// estimate says how long the rest takes, by what was done since the start.
func (r *Report) estimate(took time.Duration, extra int64) {
	done := r.Bytes.Done + extra
	r.ETASeconds = 0
	if done <= 0 || r.Bytes.Total <= done || took < time.Second {
		return
	}
	rest := float64(r.Bytes.Total-done) / float64(done) * took.Seconds()
	r.ETASeconds = max(1, int(min(rest, 1e6)))
}

// outcome is what became of one file, as the journal keeps it.
type fileResult struct {
	Name string `json:"name,omitempty"`
	Size int64  `json:"size,omitempty"`
	// Same says that it was there as it is, Removed that it is gone with its documents.
	Unchanged bool `json:"same,omitempty"`
	Removed   bool `json:"removed,omitempty"`
	// Error is why nothing could be read; Problems are the first of the Skipped records.
	Error     string         `json:"error,omitempty"`
	Problems  []string       `json:"problems,omitempty"`
	Skipped   int            `json:"skipped,omitempty"`
	Documents DocumentCounts `json:"documents,omitzero"`
	// End says that nothing was left to do, and Full that there is no room for the rest: it is why.
	End         bool   `json:"end,omitempty"`
	QuotaDetail string `json:"full,omitempty"`
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
