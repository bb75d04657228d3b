package modelfake

import "fmt"

// openAIEncoder writes the chunks of a chat completion.
type openAIEncoder struct {
	*writer
	model string
	reply Reply
}

func (o *openAIEncoder) chunk(choices, rest string) {
	o.event("", fmt.Sprintf(
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":%s,`+
			`"system_fingerprint":"fp","choices":%s%s}`,
		quote(o.model), choices, rest,
	))
}

func (o *openAIEncoder) delta(delta string) {
	o.chunk(`[{"index":0,"delta":`+delta+`,"logprobs":null,"finish_reason":null}]`, "")
}

func (o *openAIEncoder) begin() { o.delta(`{"role":"assistant","content":""}`) }

func (o *openAIEncoder) text(piece string) {
	o.wait()
	o.delta(`{"content":` + quote(piece) + `}`)
}

func (o *openAIEncoder) call(index int, c Call, pieces []string) {
	o.wait()
	id := ""
	if c.ID != "" {
		id = `"id":` + quote(c.ID) + `,`
	}
	o.delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s"type":"function","function":{"name":%s,"arguments":""}}]}`, index,
		id, quote(c.Name)))
	for _, piece := range pieces {
		o.delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, index, quote(piece)))
	}
}

func (o *openAIEncoder) keepAlive()    { o.raw(": PROCESSING\n\n") }
func (o *openAIEncoder) emptyChoices() { o.chunk("[]", "") }

func (o *openAIEncoder) finish(reason string) {
	if reason != "" {
		o.chunk(`[{"index":0,"delta":{},"logprobs":null,"finish_reason":`+quote(reason)+`}]`, "")
	}
	if !o.reply.NoUsage {
		o.chunk("[]", fmt.Sprintf(
			`,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
				`"prompt_tokens_details":{"cached_tokens":%d}}`,
			o.reply.In, o.reply.Out, o.reply.In+o.reply.Out, o.reply.Cached,
		))
	}
}

func (o *openAIEncoder) end()             { o.raw("data: [DONE]\n\n") }
func (o *openAIEncoder) fail(body string) { o.event("", body) }

// anthropicEncoder writes the events of a message.
type anthropicEncoder struct {
	*writer
	model string
	reply Reply
	// block is the index of the next content block. open is set while a text block is open.
	block int
	open  bool
}

func (a *anthropicEncoder) begin() {
	usage := ""
	if !a.reply.NoUsage {
		usage = fmt.Sprintf(
			`,"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d,"output_tokens":1}`,
			a.reply.In-a.reply.Cached, a.reply.Cached,
		)
	}
	a.event("message_start", fmt.Sprintf(
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":%s,`+
			`"content":[],"stop_reason":null,"stop_sequence":null%s}}`,
		quote(a.model), usage,
	))
}

func (a *anthropicEncoder) start(block string) {
	a.event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, a.block,
		block))
}

func (a *anthropicEncoder) delta(delta string) {
	a.event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, a.block, delta))
}

func (a *anthropicEncoder) stop() {
	a.event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, a.block))
	a.block++
}

func (a *anthropicEncoder) text(piece string) {
	a.wait()
	if !a.open {
		a.start(`{"type":"text","text":""}`)
		a.open = true
	}
	a.delta(`{"type":"text_delta","text":` + quote(piece) + `}`)
}

func (a *anthropicEncoder) closeText() {
	if a.open {
		a.stop()
		a.open = false
	}
}

func (a *anthropicEncoder) call(_ int, c Call, pieces []string) {
	a.closeText()
	a.wait()
	a.start(fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quote(c.ID), quote(c.Name)))
	for _, piece := range pieces {
		a.delta(`{"type":"input_json_delta","partial_json":` + quote(piece) + `}`)
	}
	a.stop()
}

func (a *anthropicEncoder) keepAlive() {
	a.raw(": keep-alive\n\n")
	a.event("ping", `{"type":"ping"}`)
}

// emptyChoices sends an empty delta, because this format has no choices.
func (a *anthropicEncoder) emptyChoices() {
	if a.open {
		a.delta(`{"type":"text_delta","text":""}`)
	}
}

func (a *anthropicEncoder) finish(reason string) {
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

func (a *anthropicEncoder) end()             { a.event("message_stop", `{"type":"message_stop"}`) }
func (a *anthropicEncoder) fail(body string) { a.event("error", body) }
