package telemetry_test

import (
	"strings"
	"testing"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/telemetry"
)

func TestEnvironmentDecides(t *testing.T) {
	const local = "http://127.0.0.1:1"
	for _, tt := range []struct {
		name string
		env  map[string]string
		want bool
	}{
		{"nothing set exports nothing", nil, false},
		{"an endpoint exports", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": local}, true},
		{"an endpoint for traces exports", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": local + "/v1/traces"}, true},
		{"an endpoint for metrics does not", map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": local}, false},
		{"a named exporter exports", map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true},
		{"the console is an exporter", map[string]string{"OTEL_TRACES_EXPORTER": "console"}, true},
		{"none is none, whatever the endpoint", map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": local}, false},
		{"empty is unset", map[string]string{"OTEL_TRACES_EXPORTER": "", "OTEL_EXPORTER_OTLP_ENDPOINT": " "}, false},
		{"a disabled SDK exports nothing", map[string]string{"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": local}, false},
		{"disabled is only true", map[string]string{"OTEL_SDK_DISABLED": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": local}, true},
		{"gRPC is a protocol", map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_ENDPOINT": local}, true},
		{"a sampler by ratio", map[string]string{"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25", "OTEL_EXPORTER_OTLP_ENDPOINT": local}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clearEnv(t)
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			tel := start(t, telemetry.Config{})
			if got := tel.Enabled(); got != tt.want {
				t.Errorf("enabled is %v, want %v", got, tt.want)
			}
			shutdown(t, tel)
			shutdown(t, tel) // a second one does nothing
		})
	}
}

func TestBadEnvironmentIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		want []string // parts of the message
	}{
		{"exporter", map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, []string{"OTEL_TRACES_EXPORTER", "zipkin"}},
		{"protocol", map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "carrier-pigeon"}, []string{"carrier-pigeon"}},
		{"endpoint without a scheme", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:4318"}, []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://"}},
		{"endpoint of a host alone", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "localhost:4318"}, []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "localhost:4318"}},
		{"sampler", map[string]string{"OTEL_TRACES_SAMPLER": "sometimes"}, []string{"OTEL_TRACES_SAMPLER", "sometimes", "always_on"}},
		{"ratio", map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "10%"}, []string{"OTEL_TRACES_SAMPLER_ARG", "10%"}},
		{"ratio above one", map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "NaN"}, []string{"OTEL_TRACES_SAMPLER_ARG", "NaN"}},
		{"resource", map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "production"}, []string{"OTEL_RESOURCE_ATTRIBUTES"}},
		{"two at once", map[string]string{"OTEL_TRACES_SAMPLER": "x", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "y"}, []string{"OTEL_TRACES_SAMPLER", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clearEnv(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			_, err := telemetry.New(t.Context(), telemetry.Config{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not name %q", err, part)
				}
			}
		})
	}
}

func TestEnvironmentNamesTheService(t *testing.T) {
	recv := newReceiver(t)
	t.Setenv("OTEL_SERVICE_NAME", "billing")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	tel := start(t, telemetry.Config{Version: "v1"})
	run := newRun(newDice())
	tel.Middleware()(returning(jobhost.Outcome{}))(t.Context(), jobhost.Call{Run: run})
	shutdown(t, tel)
	recv.span(t, run.ID.SpanID())
	for k, v := range map[string]any{"service.name": "billing", "deployment.environment.name": "test", "service.version": "v1"} {
		if recv.resource[k] != v {
			t.Errorf("resource attribute %s is %v, want %v", k, recv.resource[k], v)
		}
	}
}
