package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// letterVectors serves embeddings that count letters.
func letterVectors(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/v1/embeddings" ||
			request.Model != "letters" {
			http.Error(w, "wrong request", http.StatusBadRequest)
			return
		}
		type item struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var data []item
		for i, text := range request.Input {
			v := make([]float32, 64)
			for _, c := range []byte(text) {
				v[c%64]++
			}
			data = append(data, item{i, v})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

func TestAnEndpointIsJudgedBesideTheBuiltInVectors(t *testing.T) {
	t.Parallel()
	url := letterVectors(t)
	var out strings.Builder
	args := []string{"eval", "-data", tinyData(t), "-endpoint", url + "/", "-model", "letters"}
	if err := run(t.Context(), args, nil, &out, t.Output()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"words", "built-in", "endpoint", "compared with words", "95 % interval", "acl titles"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
	for _, wrong := range [][]string{
		{"-endpoint", url}, {"-model", "letters"}, {"-endpoint", url, "-model", "unknown"},
	} {
		if err := run(t.Context(), append(args[:3:3], wrong...), nil, &out, t.Output()); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

func TestLanguagesAreMeasuredByFile(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	writeText(t, data, "xquad.el.json", tinyPassages)
	var out strings.Builder
	if err := run(t.Context(), []string{"languages", "-data", data}, nil, &out, t.Output()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "el") || !strings.Contains(out.String(), "1.0000") {
		t.Errorf("printed:\n%s", out.String())
	}
	err := run(t.Context(), []string{"languages", "-data", filepath.Join(data, "none")}, nil, &out, t.Output())
	if err == nil || exitCode(err) != unable {
		t.Errorf("a folder that does not exist: %v", err)
	}
}
