package config_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"carrel/internal/config"
)

func TestModelIsOffByDefault(t *testing.T) {
	t.Parallel()
	c := load(t, env(t))
	if c.Model.On() || c.Model.API != "none" || len(c.Warnings) != 0 {
		t.Errorf("without settings: %+v, %v", c.Model, c.Warnings)
	}
}

func TestModelSettingsAreRead(t *testing.T) {
	t.Parallel()
	c := load(t, env(
		t, "CARREL_MODEL", "openai", "CARREL_MODEL_BASE_URL", "https://models.example/v1", "CARREL_MODEL_NAME", "a=b/c:d",
		"CARREL_MODEL_API_KEY_FILE", write(t, "key", "sk-hunter2\n"), "CARREL_MODEL_ALLOWED", "small, big ,small,",
		"CARREL_MODEL_PRICE_IN", "0.075", "CARREL_MODEL_PRICE_OUT", "1.0000001",
		"CARREL_MODEL_PRICES", "a=b/c:d=0.1/0.3, small=0/12", "CARREL_MODEL_IDLE_TIME", "3m",
	))
	want := config.Model{
		API: "openai", BaseURL: "https://models.example/v1", Key: "sk-hunter2", Name: "a=b/c:d", Allowed: []string{
			"small",
			"big",
		},
		PriceIn: config.Money{Micros: 75_000, Known: true}, PriceOut: config.Money{Micros: 1_000_001, Known: true},
		Prices: map[string]config.Price{"a=b/c:d": {In: 100_000, Out: 300_000}, "small": {In: 0, Out: 12_000_000}},
		Idle:   3 * time.Minute, Judge: true,
	}
	if !reflect.DeepEqual(c.Model, want) || !c.Model.On() || len(c.Warnings) != 0 {
		t.Errorf("got  %+v\nwant %+v\n%v", c.Model, want, c.Warnings)
	}
	for name, want := range map[string]string{
		"model-price-in": "0.075", "model-price-out": "1.000001", "model-prices": "a=b/c:d=0.1/0.3,small=0/12",
		"model-allowed": "small,big", "model-api-key": "[redacted]",
	} {
		if got := describe(t, c, name).Value; got != want {
			t.Errorf("%s is shown as %q, want %q", name, got, want)
		}
	}
	if strings.Contains(c.String(), "hunter2") {
		t.Error("the key is printed")
	}
}

func TestInvalidModelSettingsAreRefused(t *testing.T) {
	t.Parallel()
	with := func(kv ...string) []string {
		return append([]string{
			"CARREL_MODEL", "openai", "CARREL_MODEL_NAME", "m", "CARREL_MODEL_BASE_URL",
			"http://localhost:1/v1",
		}, kv...)
	}
	for _, tc := range []struct {
		vars []string
		want string
	}{
		{with(), ""},
		{[]string{"CARREL_MODEL", "anthropic", "CARREL_MODEL_NAME", "m", "CARREL_MODEL_API_KEY", "k"}, ""},
		{[]string{"CARREL_MODEL", "gemini"}, "one of: none, openai, anthropic"},
		{[]string{"CARREL_MODEL", "openai", "CARREL_MODEL_API_KEY", "k"}, "model-name is missing"},
		{[]string{"CARREL_MODEL", "openai", "CARREL_MODEL_NAME", "m"}, "model-api-key is missing"},
		{with("CARREL_MODEL", "anthropic"), "must not end in /v1"},
		{with("CARREL_MODEL_BASE_URL", "localhost:1/v1"), "absolute http"},
		{with("CARREL_MODEL_BASE_URL", "https://u:p@a.example/v1"), "user name"},
		{with("CARREL_MODEL_BASE_URL", "https://a.example/v1?k=v"), "query"},
		{with("CARREL_MODEL_BASE_URL", "https://a.example/v1/"), "slash"},
		{with("CARREL_MODEL_BASE_URL", "https://a.example/v1/chat/completions"), "path of a request"},
		{with("CARREL_MODEL_NAME", " m"), "name of a model"},
		{with("CARREL_MODEL_API_KEY", "k k"), "spaces"},
		{with("CARREL_MODEL_ALLOWED", "a\nb"), "model names"},
		{with("CARREL_MODEL_PRICE_IN", "1"), "go together"},
		{with("CARREL_MODEL_PRICE_IN", "-1", "CARREL_MODEL_PRICE_OUT", "1"), "CARREL_MODEL_PRICE_IN must be dollars"},
		{with("CARREL_MODEL_PRICE_IN", "1e3", "CARREL_MODEL_PRICE_OUT", "1"), "dollars"},
		{with("CARREL_MODEL_PRICE_IN", "1000.000001", "CARREL_MODEL_PRICE_OUT", "1"), "dollars"},
		{with("CARREL_MODEL_PRICE_IN", "1000", "CARREL_MODEL_PRICE_OUT", "0"), ""},
		{with("CARREL_MODEL_PRICE_IN", "99999999999999999999", "CARREL_MODEL_PRICE_OUT", "1"), "dollars"},
		{with("CARREL_MODEL_PRICES", "m"), "such as gpt-4o"},
		{with("CARREL_MODEL_PRICES", "m=1"), "such as gpt-4o"},
		{with("CARREL_MODEL_PRICES", "=1/2"), "such as gpt-4o"},
		{with("CARREL_MODEL_PRICES", "m=1/x"), "such as gpt-4o"},
		{with("CARREL_MODEL_PRICES", "m=1/2,m=1/2"), "each model once"},
	} {
		checkLoad(t, tc.vars, tc.want)
	}
}

func TestModelSettingsWithoutEffectAreWarnings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		vars []string
		want string
	}{
		{[]string{"CARREL_MODEL_NAME", "m"}, "no effect without model"},
		{[]string{
			"CARREL_MODEL", "openai", "CARREL_MODEL_NAME", "m", "CARREL_MODEL_BASE_URL", "http://10.0.0.7/v1",
			"CARREL_MODEL_API_KEY", "k",
		}, "plain http"},
		{[]string{
			"CARREL_MODEL", "openai", "CARREL_MODEL_NAME", "m", "CARREL_MODEL_API_KEY", "k", "CARREL_MODEL_PRICES",
			"n=1/2",
		}, "model-prices"},
	} {
		if c := load(t, env(t, tc.vars...)); len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], tc.want) {
			t.Errorf("%q: %v", tc.vars, c.Warnings)
		}
	}
}

func TestALocalModelHasMoreTime(t *testing.T) {
	t.Parallel()
	for address, local := range map[string]bool{
		"http://localhost:11434/v1": true, "http://127.0.0.1:8080/v1": true, "http://[::1]:8080/v1": true,
		"http://192.168.1.5/v1": true, "http://10.1.2.3:8000/v1": true, "http://ollama:11434/v1": true,
		"http://box.local/v1": true,
		"":                    false, "https://api.openai.com/v1": false, "http://8.8.8.8/v1": false,
		"https://models.example/v1": false,
	} {
		m := config.Model{BaseURL: address}
		idle, turn, research := 2*time.Minute, 90*time.Second, 10*time.Minute
		if local {
			idle, turn, research = 10*time.Minute, 15*time.Minute, time.Hour
		}
		if m.IdleTime() != idle || m.OrdinaryTime() != turn || m.ResearchTime() != research {
			t.Errorf("%q has %v, %v and %v", address, m.IdleTime(), m.OrdinaryTime(), m.ResearchTime())
		}
		m.Idle, m.Turn, m.Research = 1, 2, 3
		if m.IdleTime() != 1 || m.OrdinaryTime() != 2 || m.ResearchTime() != 3 {
			t.Errorf("%q ignores its settings", address)
		}
	}
	for _, bad := range []string{"0s", "soon", "25h", "-1m"} {
		if _, err := config.Load(env(t, "CARREL_TURN_TIME", bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
