package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Model are the settings of the language model.
type Model struct {
	// API is "openai", "anthropic" or "none".
	API string
	// BaseURL is the address of the provider, without a trailing slash; empty means OpenAI or Anthropic.
	BaseURL string
	// Key is the API key; empty means none.
	Key string
	// Name is the default model. Allowed are further models that an agent may use.
	Name    string
	Allowed []string
	// PriceIn and PriceOut apply to models that are not in Prices. Both are set or neither.
	PriceIn, PriceOut Money
	// Prices are keyed by the name of the model.
	Prices map[string]Price
	// Idle, Turn and Research are time limits; 0 means the default, which depends on the address. See IdleTime,
	// OrdinaryTime and ResearchTime.
	Idle, Turn, Research time.Duration
	// Judge has the model judge the sentences of ordinary answers as well.
	Judge bool
}

// IdleTime returns the longest time without a token of an answer.
func (m Model) IdleTime() time.Duration {
	return cmp.Or(m.Idle, m.localOr(10*time.Minute, 2*time.Minute))
}

// OrdinaryTime returns the time limit of an ordinary turn. A model on a private machine may be slow, and costs nothing
// while it writes.
func (m Model) OrdinaryTime() time.Duration {
	return cmp.Or(m.Turn, m.localOr(15*time.Minute, 90*time.Second))
}

// ResearchTime returns the time limit of a research turn.
func (m Model) ResearchTime() time.Duration {
	return cmp.Or(m.Research, m.localOr(time.Hour, 10*time.Minute))
}

// localOr returns the first duration for a model at a loopback or private address, else the second. A name without a
// dot is a host of the local network.
func (m Model) localOr(local, public time.Duration) time.Duration {
	u, err := url.Parse(m.BaseURL)
	if err != nil || m.BaseURL == "" {
		return public
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip = ip.Unmap(); ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() {
			return local
		}
		return public
	}
	if !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") ||
		strings.HasSuffix(host, ".internal") || strings.HasSuffix(host, ".lan") {
		return local
	}
	return public
}

// modelTime is an optional time limit of a model.
type modelTime time.Duration

func (v *modelTime) String() string {
	if *v == 0 {
		return ""
	}
	return time.Duration(*v).String()
}

func (v *modelTime) Set(s string) error {
	if *v = 0; s == "" {
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Second || d > 24*time.Hour {
		return errors.New("must be a duration from 1s to 24h, such as 5m, or empty for the default")
	}
	*v = modelTime(d)
	return nil
}

// On reports whether a model is configured.
func (m Model) On() bool { return m.API != "none" }

// Money is an optional amount in millionths of a dollar.
type Money struct {
	Micros int64
	Known  bool
}

// Price is the price of a million tokens, in millionths of a dollar.
type Price struct{ In, Out int64 }

// maxMicros is maxPrice in millionths of a dollar.
const maxMicros = maxPrice * 1_000_000

// parseMoney parses the price of a million tokens.
func parseMoney(s string) (int64, bool) {
	n, ok := parseDollars(s)
	return n, ok && n <= maxMicros
}

// parseDollars parses a decimal number of dollars without the rounding errors of floating-point numbers. Fractions of a
// millionth are rounded up.
func parseDollars(s string) (int64, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if whole == "" || len(whole) > 9 || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, false
	}
	up := int64(0)
	if len(fraction) > 6 {
		if strings.Trim(fraction[6:], "0") != "" {
			up = 1
		}
		fraction = fraction[:6]
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", 6-len(fraction)), 10, 64)
	return n + up, err == nil
}

func formatMoney(micros int64) string {
	s := fmt.Sprintf("%d.%06d", micros/1_000_000, micros%1_000_000)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

type money Money

func (v *money) String() string {
	if !v.Known {
		return ""
	}
	return formatMoney(v.Micros)
}

func (v *money) Set(s string) error {
	*v = money{}
	if s == "" {
		return nil
	}
	n, ok := parseMoney(s)
	if !ok {
		return errors.New("must be dollars per million tokens, such as 2.50")
	}
	*v = money{Micros: n, Known: true}
	return nil
}

type priceList map[string]Price

func (v *priceList) String() string {
	var out []string
	for name, p := range *v {
		out = append(out, name+"="+formatMoney(p.In)+"/"+formatMoney(p.Out))
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

func (v *priceList) Set(s string) error {
	invalid := errors.New("must be a list of models with dollars per million input and output tokens, " +
		"such as gpt-4o=2.50/10,llama3:8b=0/0, each model once")
	out := priceList{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		at := strings.LastIndexByte(part, '=') // a name may contain =
		in, after, ok := strings.Cut(part[at+1:], "/")
		microsIn, okIn := parseMoney(in)
		microsOut, okOut := parseMoney(after)
		if at < 1 || !ok || !okIn || !okOut || !modelName(part[:at]) {
			return invalid
		}
		if _, twice := out[part[:at]]; twice {
			return invalid
		}
		out[part[:at]] = Price{microsIn, microsOut}
	}
	*v = out
	return nil
}

type modelNames []string

func (v *modelNames) String() string { return strings.Join(*v, ",") }

func (v *modelNames) Set(s string) error {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if !modelName(part) {
			return errors.New("must be a comma-separated list of model names")
		}
		if !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	*v = out
	return nil
}

// modelName reports whether s is a valid name of a model. Commas separate names in lists.
func modelName(s string) bool {
	return s != "" && len(s) <= 200 && strings.TrimSpace(s) == s &&
		!strings.ContainsFunc(s, func(r rune) bool { return r == ',' || !unicode.IsGraphic(r) })
}

func checkModelName(s string) error {
	if s != "" && !modelName(s) {
		return errors.New("must be the name of a model, such as gpt-4o or llama3.1:8b")
	}
	return nil
}

func checkModelURL(s string) error {
	if s == "" {
		return nil // the default of the API
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("must be an absolute http or https URL, such as http://localhost:11434/v1")
	case u.User != nil:
		return errors.New("must not contain a user name or password; use model-api-key")
	case strings.ContainsAny(s, "?#"):
		return errors.New("must not have a query or a fragment")
	case strings.HasSuffix(s, "/"):
		return errors.New("must not end in a slash")
	case strings.HasSuffix(s, "/chat/completions"), strings.HasSuffix(s, "/messages"):
		return errors.New("must not include the path of a request, which is appended")
	}
	return nil
}

// problems validates combinations of settings.
func (m Model) problems() Problems {
	var probs Problems
	if m.PriceIn.Known != m.PriceOut.Known {
		probs.add("model-price-in and model-price-out go together; set both or neither")
	}
	if !m.On() {
		return probs
	}
	if m.Name == "" {
		probs.add("model-name is missing; set the name of the model, such as gpt-4o")
	}
	if m.BaseURL == "" && m.Key == "" {
		probs.add("model-api-key is missing; only a provider at model-base-url can work without a key")
	}
	if m.API == "anthropic" && strings.HasSuffix(m.BaseURL, "/v1") {
		probs.add("model-base-url must not end in /v1 with model=anthropic, because the path is appended")
	}
	return probs
}

// warnings returns likely mistakes.
func (m Model) warnings() []string {
	var out []string
	if !m.On() {
		if m.BaseURL != "" || m.Key != "" || m.Name != "" || len(m.Allowed) > 0 {
			out = append(out, "model-base-url, model-api-key, model-name and model-allowed have no effect without model")
		}
		return out
	}
	if u, err := url.Parse(m.BaseURL); err == nil && u.Scheme == "http" && m.Key != "" &&
		!loopback(u.Hostname()+":0") && !loopback("["+u.Hostname()+"]:0") {
		out = append(out, "model-base-url is plain http to another machine: "+
			"the key, questions and documents are not encrypted; use https")
	}
	names := append([]string{m.Name}, m.Allowed...)
	for name := range m.Prices {
		if !slices.Contains(names, name) {
			out = append(out, "model-prices contains a model that is neither model-name nor in model-allowed")
			break
		}
	}
	return out
}
