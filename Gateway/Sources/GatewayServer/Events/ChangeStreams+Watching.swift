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
    /// - Parameter reports: The move's reports, beginning with the current one.
    func announce(_ reports: AsyncStream<MigrationReport>) async {
        var before: (stage: MigrationStage, share: Double)?
        for await report in reports {
            if let before, before != (report.stage, report.share) { announceChange() }
            before = (report.stage, report.share)
        }
    }
}
