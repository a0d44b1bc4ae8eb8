package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// The variables of the OpenTelemetry specification that are read here. The SDK and the exporters read the others.
const (
	envDisabled       = "OTEL_SDK_DISABLED"
	envExporter       = "OTEL_TRACES_EXPORTER"
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	envSampler        = "OTEL_TRACES_SAMPLER"
	envSamplerArg     = "OTEL_TRACES_SAMPLER_ARG"
)

var samplers = []string{
	"always_on", "always_off", "traceidratio",
	"parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio",
}

// wanted reports whether the environment asks for traces. The exporters' own default is to send to localhost, which
// would log an error on every machine without a collector.
func wanted() bool {
	if strings.EqualFold(env(envDisabled), "true") {
		return false
	}
	return env(envExporter) != "" || env(envEndpoint) != "" || env(envTracesEndpoint) != ""
}

// checkEnv reports every variable that the SDK would answer with a line on stderr and a silent default: an unknown
// sampler samples everything, and a bad endpoint means localhost.
func checkEnv() error {
	var errs []error
	sampler := strings.ToLower(env(envSampler))
	if sampler != "" && !slices.Contains(samplers, sampler) {
		errs = append(errs, fmt.Errorf("%s is %q; want one of %q", envSampler, sampler, samplers))
	}
	if arg := env(envSamplerArg); arg != "" && strings.HasSuffix(sampler, "traceidratio") {
		if ratio, err := strconv.ParseFloat(arg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
			errs = append(errs, fmt.Errorf("%s is %q; want a number from 0 to 1", envSamplerArg, arg))
		}
	}
	for _, name := range []string{envEndpoint, envTracesEndpoint} {
		endpoint := env(name)
		if u, err := url.Parse(endpoint); endpoint != "" && (err != nil || u.Scheme == "" || u.Host == "" && u.Path == "") {
			errs = append(errs, fmt.Errorf("%s is %q; want a URL such as http://localhost:4318", name, endpoint))
		}
	}
	return errors.Join(errs...)
}

// exporterEnv names what chose the exporter, for an error.
func exporterEnv() string {
	name, protocol := env(envExporter), env(envTracesProtocol)
	if protocol == "" {
		protocol = env(envProtocol)
	}
	return fmt.Sprintf("%s=%q and protocol %q", envExporter, name, protocol)
}

// resourceOf describes the sender. The environment has the last word.
func resourceOf(ctx context.Context, cfg Config) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{attribute.String("service.name", "jobhost")}
	if cfg.Version != "" {
		attrs = append(attrs, attribute.String("service.version", cfg.Version))
	}
	if cfg.Node != "" {
		attrs = append(attrs, attribute.String("service.instance.id", cfg.Node))
	}
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attrs...), resource.WithFromEnv())
}

// env is a variable's value; the specification treats an empty one as unset.
func env(name string) string { return strings.TrimSpace(os.Getenv(name)) }
