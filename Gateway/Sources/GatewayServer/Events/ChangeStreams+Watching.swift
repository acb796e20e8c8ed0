import Experimentation
import ExperimentationMigration

extension ChangeStreams {
    /// Announces what a client says of its rules and its kill switch, until it ends.
    ///
    /// - Parameters:
    ///   - events: What the client says.
    ///   - lacksRules: Whether the client computes decisions and had no rules before: with the first ones, those who got
    ///     errors so far get values.
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

    /// Announces that a move goes on or back, until it ends: another vendor may decide then.
    ///
    /// - Parameters:
    ///   - reports: The move's reports.
    ///   - first: Its report before them: of those that come at once only the last is heard.
    func announce(_ reports: AsyncStream<MigrationReport>, since first: MigrationReport) async {
        var before = (first.stage, first.share)
        for await report in reports {
            if before != (report.stage, report.share) { announceChange() }
            before = (report.stage, report.share)
        }
    }
}
