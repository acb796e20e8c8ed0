import Experimentation
import ExperimentationMigration

extension ChangeStreams {
    /// Announces a client's events about its rules and its kill switch, until the client ends.
    ///
    /// - Parameters:
    ///   - events: The client's events.
    ///   - lacksRules: Whether the client computes decisions and had no rules before: with the first rules, callers
    ///     that got errors so far get values.
    func announce(_ events: AsyncStream<ProviderEvent>, lacksRules: Bool = false) async {
        var (lacksRules, wasDisabled) = (lacksRules, false)
        for await event in events {
            let isDisabled = event.status == .disabled
            let isFirst = lacksRules && [.ready, .stale].contains(event.status)
            if isFirst || event.kind == .configurationChanged || isDisabled != wasDisabled { announceChange() }
            wasDisabled = isDisabled
            lacksRules = lacksRules && !isFirst
        }
    }

    /// Announces that a move goes forward or back, because another vendor may then decide; ends with the reports.
    ///
    /// - Parameters:
    ///   - reports: The move's reports.
    ///   - first: The move's report before these: of reports that arrive together, only the last is received.
    func announce(_ reports: AsyncStream<MigrationReport>, since first: MigrationReport) async {
        var before = (first.stage, first.share)
        for await report in reports {
            if before != (report.stage, report.share) { announceChange() }
            before = (report.stage, report.share)
        }
    }
}
