import ArgumentParser
import Experimentation
import ExperimentationMigration
import Foundation

extension MigrateCommand {
    /// The command `xp migrate move`.
    struct Move: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Move to another stage, forward or back, in a store that running clients share.",
            discussion: """
                Both vendors are asked for their rules, and a stage that would break a promise is refused with all \
                objections. Clients with this store follow within a few seconds.

                EXAMPLES
                  xp migrate move --plan plan.json --store app.db --to shadow
                  xp migrate move --plan plan.json --store app.db --to live --share 0.1
                """
        )

        @Option(help: ArgumentHelp("The plan.", valueName: "file"))
        var plan: String

        @Option(
            help: ArgumentHelp(
                "The store file of the clients that move; created, with its folder, if it doesn't exist.",
                valueName: "file"
            )
        )
        var store: String

        @Option(
            help: ArgumentHelp(
                "The stage: \(MigrationStage.allCases.map(\.rawValue).joined(separator: ", ")).",
                valueName: "stage"
            ),
            transform: { name in
                guard let stage = MigrationStage(rawValue: name) else {
                    let known = MigrationStage.allCases.map(\.rawValue).joined(separator: ", ")
                    throw ValidationError("--to: there is no stage \"\(name)\"; expected one of \(known)")
                }
                return stage
            }
        )
        var to: MigrationStage

        @Option(
            help: ArgumentHelp(
                "The share of users that the new vendor leads in the stage live, from 0 to 1; unchanged by default.",
                valueName: "share"
            )
        )
        var share: Double?

        func validate() throws {
            try Stores.expectName(store)
            guard share.map({ $0.isFinite && (0...1).contains($0) }) ?? true else {
                throw ValidationError("--share: expected a number from 0 to 1")
            }
        }

        func run() async throws {
            let file = try PlanFile(at: plan)
            try file.expectTwoAccounts()
            do {
                if !FileManager.default.fileExists(atPath: store) {
                    // A move that is refused must not leave an empty store behind.
                    _ = try await move(by: file, in: ClientStore.inMemory())
                }
                let opened = try await Stores.open(store, for: try provider(of: file))
                let record = try await move(by: file, in: opened)
                try Terminal.write("\(record.stage) \(record.share)\n")
            } catch let error as ExperimentationError {
                throw error.code == .configuration ? Failure(.checkFailed, error.message) : Failure(error)
            }
        }

        private func provider(of file: PlanFile) throws -> MigratingProvider {
            MigratingProvider(from: try file.provider("from"), to: try file.provider("to"), plan: file.plan)
        }

        private func move(by file: PlanFile, in opened: ClientStore) async throws -> MigrationRecord {
            try await MigrationRecord.move(to: to, share: share, with: try provider(of: file), in: opened.state)
        }
    }
}
