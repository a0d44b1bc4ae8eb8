package telemetry_test

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is a collector: OTLP over HTTP with protobuf, on loopback.
type receiver struct {
	url    string
	arrive chan struct{} // one signal for each request, before it is answered
	hold   chan struct{} // requests are answered once it is closed

	mu       sync.Mutex
	spans    map[string]*otlp.Span // by span id
	resource map[string]any
}

// newReceiver starts a receiver that answers at once, and points the environment to it.
func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := newHoldingReceiver(t)
	close(r.hold)
	return r
}

// newHoldingReceiver starts one that answers nothing until hold is closed.
func newHoldingReceiver(t *testing.T) *receiver {
	t.Helper()
	clearEnv(t)
	r := &receiver{
		arrive: make(chan struct{}, 1000), hold: make(chan struct{}),
		spans: map[string]*otlp.Span{}, resource: map[string]any{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", r.traces)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	r.url = s.URL
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.url)
	return r
}

func (r *receiver) traces(w http.ResponseWriter, req *http.Request) {
	var body io.Reader = req.Body
	if req.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	b, err := io.ReadAll(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var batch collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(b, &batch); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.arrive <- struct{}{}
	<-r.hold
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range batch.GetResourceSpans() {
		r.resource = attributes(rs.GetResource().GetAttributes())
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				r.spans[hex.EncodeToString(s.GetSpanId())] = s
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(http.StatusOK)
}

// span returns a span that has arrived.
func (r *receiver) span(t *testing.T, id string) *otlp.Span {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.spans[id]
	if s == nil {
		t.Fatalf("span %s has not arrived; there are %d others", id, len(r.spans))
	}
	return s
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.spans)
}

func attributes(kvs []*common.KeyValue) map[string]any {
	m := map[string]any{}
	for _, kv := range kvs {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			m[kv.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			m[kv.GetKey()] = v.IntValue
		case *common.AnyValue_DoubleValue:
			m[kv.GetKey()] = v.DoubleValue
		default:
			m[kv.GetKey()] = kv.GetValue().String()
		}
	}
	return m
}

// clearEnv unsets what the machine may say about telemetry, for the time of the test.
func clearEnv(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
}
