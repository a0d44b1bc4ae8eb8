module github.com/jobhost/jobhost/bench

go 1.26.0

replace github.com/jobhost/jobhost => ../

require (
	github.com/adhocore/gronx v1.20.4
	github.com/gorhill/cronexpr v0.0.0-20180427100037-88b0669f7d75
	github.com/jobhost/jobhost v0.0.0
	github.com/netresearch/go-cron v0.9.1
	github.com/reugn/go-quartz v0.15.2
	github.com/robfig/cron/v3 v3.0.1
)
