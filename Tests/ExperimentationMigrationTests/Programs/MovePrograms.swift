import Experimentation
import ExperimentationMigration
import ExperimentationSQLite
import Foundation

/// The code of README.md, character by character.
func moveAsTheReadme(
    planFile: [UInt8],
    old: any ExperimentationProvider,
    new: any ExperimentationProvider,
    events: URL
) async throws -> (ExperimentationClient, Migration?) {
    // README.md
    let plan = try MigrationPlan(json: planFile, file: "plan.json")
    let provider = MigratingProvider(from: old, to: new, plan: plan)  // in the place of the old one
    let client = try await ExperimentationClient(provider: provider, store: .sqlite(at: events))
    let migration = client.extras(as: Migration.self)
    try await migration?.move(to: .shadow)  // the new vendor is asked beside the old one, and compared
    try await migration?.move(to: .live, share: 0.1)  // a tenth of the users, each with the variation they had
    // end
    return (client, migration)
}

/// The code of docs/moving.md, character by character.
func moveAsTheGuide(
    planFile: URL,
    flagship: any ExperimentationProvider,
    sigma: any ExperimentationProvider,
    url: URL
) async throws -> (ExperimentationClient, Migration?) {
    // docs/moving.md
    let plan = try MigrationPlan(json: Array(try Data(contentsOf: planFile)), file: "plan.json")
    let provider = MigratingProvider(from: flagship, to: sigma, plan: plan)
    let client = try await ExperimentationClient(provider: provider, store: .sqlite(at: url))
    let migration = client.extras(as: Migration.self)  // stage, share, report
    // end
    return (client, migration)
}
