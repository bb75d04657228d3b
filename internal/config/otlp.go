package config

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// OTLP are the settings of the OpenTelemetry collector that traces and metrics are sent to.
type OTLP struct {
	// URL is the address without "/v1/traces" and a trailing slash; empty means that nothing is exported.
	URL string
	// Headers are sent with every request.
	Headers http.Header
	// Sample is the share of traces that are exported, from 0 to 1.
	Sample float64
	// Interval is the time between exports of metrics.
	Interval time.Duration
}

func checkOTLPURL(s string) error {
	if s == "" {
		return nil // off
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("must be an absolute http or https URL, such as http://127.0.0.1:4318")
	case u.User != nil:
		return errors.New("must not contain a user name or password; use otlp-headers")
	case strings.ContainsAny(s, "?#"):
		return errors.New("must not have a query or a fragment")
	case strings.HasSuffix(u.Path, "/v1/traces") || strings.HasSuffix(u.Path, "/v1/metrics"):
		return errors.New("must not end in /v1/traces or /v1/metrics, which are appended")
	case strings.HasSuffix(s, "/"):
		return errors.New("must not end in a slash")
	}
	return nil
}

// headers is a list of header fields, one per line.
type headers http.Header

func (v *headers) String() string {
	var b strings.Builder
	_ = http.Header(*v).Write(&b) // a Builder returns no errors
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\r\n", "\n")
}

func (v *headers) Set(s string) error {
	*v = nil
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || value == "" || !httpguts.ValidHeaderFieldValue(value) {
			return errors.New("must be header fields in the form name: value, one per line")
		}
		if *v == nil {
			*v = headers{}
		}
		http.Header(*v).Add(name, value)
	}
	return nil
}

// share is a number from 0 to 1.
type share float64

func (v *share) String() string { return strconv.FormatFloat(float64(*v), 'f', -1, 64) }

func (v *share) Set(s string) error {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 1 {
		return errors.New("must be a number from 0 to 1, such as 0.1")
	}
	*v = share(n)
	return nil
}

// exportInterval is an interval of exports.
type exportInterval time.Duration

func (v *exportInterval) String() string { return time.Duration(*v).String() }

func (v *exportInterval) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Second || d > time.Hour {
		return errors.New("must be a duration from 1s to 1h, such as 1m")
	}
	*v = exportInterval(d)
	return nil
}

// warnings returns likely mistakes.
func (o OTLP) warnings() []string {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || len(o.Headers) == 0:
		return nil
	case o.URL == "":
		return []string{"otlp-headers has no effect without otlp-url"}
	case u.Scheme == "http" && !loopback(u.Hostname()+":0") && !loopback("["+u.Hostname()+"]:0"):
		return []string{"otlp-url is plain http to another machine: the headers are not encrypted; use https"}
	}
	return nil
}
