import Experimentation
import ExperimentationMigration

extension ChangeStreams {
    /// Announces what a client says of its rules and its kill switch, until it ends.
    func announce(_ events: AsyncStream<ProviderEvent>) async {
        var wasDisabled = false
        for await event in events {
            let isDisabled = event.status == .disabled
            if event.kind == .configurationChanged || isDisabled != wasDisabled { announceChange() }
            wasDisabled = isDisabled
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
