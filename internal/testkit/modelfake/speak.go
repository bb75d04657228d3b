package modelfake

import "fmt"

// openAISpeaker sends chunks of a chat completion.
type openAISpeaker struct {
	*writer
	model string
	reply Reply
}

func (o *openAISpeaker) chunk(choices, rest string) {
	o.event("", fmt.Sprintf(
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":%s,"system_fingerprint":"fp","choices":%s%s}`,
		quote(o.model), choices, rest,
	))
}

func (o *openAISpeaker) delta(delta string) {
	o.chunk(`[{"index":0,"delta":`+delta+`,"logprobs":null,"finish_reason":null}]`, "")
}

func (o *openAISpeaker) begin() { o.delta(`{"role":"assistant","content":""}`) }

func (o *openAISpeaker) text(piece string) {
	o.wait()
	o.delta(`{"content":` + quote(piece) + `}`)
}

func (o *openAISpeaker) call(index int, c Call, pieces []string) {
	o.wait()
	id := ""
	if c.ID != "" {
		id = `"id":` + quote(c.ID) + `,`
	}
	o.delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s"type":"function","function":{"name":%s,"arguments":""}}]}`, index, id, quote(c.Name)))
	for _, piece := range pieces {
		o.delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, index, quote(piece)))
	}
}

func (o *openAISpeaker) keepAlive()    { o.raw(": PROCESSING\n\n") }
func (o *openAISpeaker) emptyChoices() { o.chunk("[]", "") }

func (o *openAISpeaker) finish(reason string) {
	if reason != "" {
		o.chunk(`[{"index":0,"delta":{},"logprobs":null,"finish_reason":`+quote(reason)+`}]`, "")
	}
	if !o.reply.NoUsage {
		o.chunk("[]", fmt.Sprintf(
			`,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
			o.reply.In, o.reply.Out, o.reply.In+o.reply.Out, o.reply.Cached,
		))
	}
}

func (o *openAISpeaker) end()             { o.raw("data: [DONE]\n\n") }
func (o *openAISpeaker) fail(body string) { o.event("", body) }

// anthropicSpeaker sends the events of a message.
type anthropicSpeaker struct {
	*writer
	model string
	reply Reply
	// block is the number of the next block, and open says that one of text is not closed.
	block int
	open  bool
}

func (a *anthropicSpeaker) begin() {
	usage := ""
	if !a.reply.NoUsage {
		usage = fmt.Sprintf(
			`,"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d,"output_tokens":1}`,
			a.reply.In-a.reply.Cached, a.reply.Cached,
		)
	}
	a.event("message_start", fmt.Sprintf(
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":%s,"content":[],"stop_reason":null,"stop_sequence":null%s}}`,
		quote(a.model), usage,
	))
}

func (a *anthropicSpeaker) start(block string) {
	a.event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, a.block, block))
}

func (a *anthropicSpeaker) delta(delta string) {
	a.event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, a.block, delta))
}

func (a *anthropicSpeaker) stop() {
	a.event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, a.block))
	a.block++
}

func (a *anthropicSpeaker) text(piece string) {
	a.wait()
	if !a.open {
		a.start(`{"type":"text","text":""}`)
		a.open = true
	}
	a.delta(`{"type":"text_delta","text":` + quote(piece) + `}`)
}

func (a *anthropicSpeaker) closeText() {
	if a.open {
		a.stop()
		a.open = false
	}
}

func (a *anthropicSpeaker) call(_ int, c Call, pieces []string) {
	a.closeText()
	a.wait()
	a.start(fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quote(c.ID), quote(c.Name)))
	for _, piece := range pieces {
		a.delta(`{"type":"input_json_delta","partial_json":` + quote(piece) + `}`)
	}
	a.stop()
}

func (a *anthropicSpeaker) keepAlive() {
	a.raw(": still here\n\n")
	a.event("ping", `{"type":"ping"}`)
}

// emptyChoices is a delta without content, which comes nearest to it.
func (a *anthropicSpeaker) emptyChoices() {
	if a.open {
		a.delta(`{"type":"text_delta","text":""}`)
	}
}

func (a *anthropicSpeaker) finish(reason string) {
	a.closeText()
	stop, usage := "null", ""
	if reason != "" {
		stop = quote(reason)
	}
	if !a.reply.NoUsage {
		usage = fmt.Sprintf(`,"usage":{"output_tokens":%d}`, a.reply.Out)
	}
	a.event("message_delta", `{"type":"message_delta","delta":{"stop_reason":`+stop+`,"stop_sequence":null}`+usage+`}`)
}

func (a *anthropicSpeaker) end()             { a.event("message_stop", `{"type":"message_stop"}`) }
func (a *anthropicSpeaker) fail(body string) { a.event("error", body) }
