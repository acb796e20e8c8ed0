import Experimentation
import ExperimentationMigration
import ExperimentationSQLite
import Foundation
import VendorCatalog

/// Moves users from one vendor to another, a stage at a time: `mover old.json new.json plan.json app.db STAGE [SHARE]`.
///
/// It changes to the stage, reads a user's id from each line of its input, and prints the user's variation and the
/// vendor that answered. At the end it prints the move's status. Places are kept in `app.db`: with the next stage, every
/// user keeps their variation.
@main
struct Mover {
    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("mover: \(error)\n".utf8))
            exit(1)
        }
    }

    static func run(_ arguments: [String]) async throws {
        guard arguments.count >= 5, let stage = MigrationStage(rawValue: arguments[4]) else {
            return print("usage: mover OLD.json NEW.json PLAN.json STORE STAGE [SHARE]")
        }
        let plan = try MigrationPlan(json: bytes(arguments[2]), file: arguments[2])
        let provider = try MigratingProvider(from: vendor(arguments[0]), to: vendor(arguments[1]), plan: plan)
        let client = try await ExperimentationClient(
            provider: provider,
            store: .sqlite(at: URL(filePath: arguments[3]))
        )
        guard let migration = client.extras(as: Migration.self) else { return }
        try await migration.move(to: stage, share: arguments.count > 5 ? Double(arguments[5]) : nil)
        while let id = readLine() {
            let session = client.session(for: User(id: id, anonymousID: id, consent: .granted))
            try await session.refresh()
            let color = session.string("checkout-color", default: "black")
            let side = session.decisions.assignments.lazy.compactMap { Migration.side(of: $0) }.first
            print("\(id) \(color) \(side.map { "\($0)" } ?? "-")")
            let goal = TrackingEvent.goalCompleted("looked")
            // A vendor that takes no events leaves no destination for them once the old one is gone.
            if client.supports(goal) { try await session.track(goal) }
        }
        try await client.flush(within: .seconds(10))
        let report = migration.report
        print(
            "stage \(report.stage), changed \(report.changed), ratio alarms \(report.allocations.values.count { $0.isAlarming })"
        )
        for (destination, ledger) in try await client.ledgers().sorted(by: { $0.key.provider < $1.key.provider }) {
            print("\(destination.provider): \(ledger.delivered) of \(ledger.accepted) events delivered")
        }
        await client.shutdown()
    }

    private static func vendor(_ file: String) throws -> any ExperimentationProvider {
        try VendorCatalog.provider(
            json: bytes(file),
            file: file,
            environment: ProcessInfo.processInfo.environment
        )
    }

    private static func bytes(_ file: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: file))) }
}
