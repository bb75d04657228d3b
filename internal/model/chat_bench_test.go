package model_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"carrel/internal/model"
	"carrel/internal/testkit"
)

// tokens is the number of text chunks in an answer of the benchmark.
const tokens = 2000

// canned returns a whole answer, so that the benchmark measures the client and not the server.
func canned(api model.API) string {
	var b strings.Builder
	if api == model.Anthropic {
		b.WriteString("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"," +
			"\"type\":\"message\",\"role\":\"assistant\",\"content\":[]," +
			"\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n")
		b.WriteString(strings.Repeat("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"+
			"\"delta\":{\"type\":\"text_delta\",\"text\":\" word\"}}\n\n", tokens))
		b.WriteString("event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}," +
			"\"usage\":{\"output_tokens\":2000}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
		return b.String()
	}
	head := "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m\"," +
		"\"choices\":["
	word := "{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n"
	b.WriteString(strings.Repeat(head+word, tokens))
	b.WriteString(head + "{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
	b.WriteString(head + "],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2000,\"total_tokens\":2009}}\n\n")
	b.WriteString("data: [DONE]\n\n")
	return b.String()
}

// BenchmarkToken measures the cost of a streamed token, compared with only splitting the same bytes into lines.
func BenchmarkToken(b *testing.B) {
	for _, api := range []model.API{model.OpenAI, model.Anthropic} {
		body := canned(api)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, body)
		}))
		b.Run(string(api), func(b *testing.B) {
			p, err := model.New(model.Options{API: api, BaseURL: server.URL, Key: "k", Name: "m"}, testkit.NewClock())
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			b.ReportAllocs()
			for n := 0; n < b.N; n += tokens {
				pieces := 0
				for e, err := range p.Stream(b.Context(), question("?")) {
					if err != nil {
						b.Fatal(err)
					}
					if _, ok := e.(model.Text); ok {
						pieces++
					}
				}
				if pieces != tokens {
					b.Fatalf("%d pieces", pieces)
				}
			}
		})
		b.Run(string(api)+" lines only", func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; n < b.N; n += tokens {
				res, err := http.Post(server.URL, "application/json", strings.NewReader("{}"))
				if err != nil {
					b.Fatal(err)
				}
				for lines := bufio.NewScanner(res.Body); lines.Scan(); {
				}
				_ = res.Body.Close()
			}
		})
		server.Close()
	}
}
