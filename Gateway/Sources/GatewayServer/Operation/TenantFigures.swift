import Experimentation
import ExperimentationMigration
import Foundation

/// A snapshot of a tenant for operators.
struct TenantFigures: Sendable {
    var name: String
    var vendor: String
    var status: ProviderStatus
    var isReady: Bool
    var flags: Int
    var changes: Int
    var streams: Int
    var ledger: Ledger
    var ledgers: [Destination: Ledger]
    var outbox: OutboxStatus
    /// How much waits for the shared database, and how much was dropped for lack of room; `nil` without a file for it.
    var meanwhile: (waiting: Int, dropped: Int)?
    /// The state of the tenant's move; `nil` for none.
    var move: MigrationReport?
    /// The age of the vendor's rules, or of both vendors' rules in a move, by side; empty for a vendor that is asked
    /// for each user.
    var rulesAges: [(side: String, age: Duration)]
    /// How decisions of a vendor that is asked for each user were answered; `nil` for another vendor.
    var answers: AnswerFigures?

    /// Takes snapshots of tenants, none of which waits for another tenant's store.
    static func of(_ tenants: [Tenant]) async -> [TenantFigures] {
        await withTaskGroup { group in
            for (place, tenant) in tenants.enumerated() { group.addTask { (place, await TenantFigures(tenant)) } }
            var figures: [(place: Int, figures: TenantFigures)] = []
            for await one in group { figures.append(one) }
            return figures.sorted { $0.place < $1.place }.map(\.figures)
        }
    }

    /// Takes a snapshot; values that the store can't provide are those of the previous one.
    init(_ tenant: Tenant) async {
        name = tenant.name
        let connection = tenant.connection
        let client = connection.client
        vendor = client.providerName
        status = client.status
        isReady = tenant.isReady
        move = connection.migration?.report
        if let migration = connection.migration {
            let ages = await migration.rulesAges()
            rulesAges = MigrationSide.allCases.compactMap { side in ages[side].map { (side.rawValue, $0) } }
        } else {
            rulesAges = client.rulesAge.map { [("", $0)] } ?? []
        }
        let isAsked = move == nil && client.supports(.flags) && !client.supports(.localEvaluation)
        answers = isAsked ? client.answerFigures : nil
        meanwhile = connection.meanwhile.map { ($0.count, $0.dropped) }
        flags = tenant.evaluator.knownForms?.catalogue.count ?? 0
        changes = connection.changes.changes
        streams = connection.changes.count
        let accounts = await connection.accounts.figures
        (ledger, ledgers, outbox) = (accounts.ledger, accounts.ledgers, accounts.outbox)
    }

    /// The snapshot for the console.
    var document: FlagValue {
        var members = own
        if let move { members["move"] = move.document }
        if let answers {
            members["answers"] = [
                "fresh": .int(answers.fresh), "stale": .int(answers.stale), "refused": .int(answers.refused),
                "asked": .int(answers.asked), "users": .int(answers.users),
            ]
        }
        if let meanwhile {
            members["meanwhile"] = ["waiting": .int(meanwhile.waiting), "dropped": .int(meanwhile.dropped)]
        }
        return .object(members)
    }

    private var own: [String: FlagValue] {
        [
            "name": .string(name), "vendor": .string(vendor), "status": .string(status.rawValue),
            "ready": .bool(isReady), "flags": .int(flags), "changes": .int(changes), "streams": .int(streams),
            "rules": .array(
                rulesAges.map { ["side": .string($0.side), "seconds": .double($0.age / .seconds(1))] }
            ),
            "waiting": .int(outbox.deliverable), "held": .int(outbox.held),
            "destinations": .array(
                ledgers.sorted { $0.key.provider < $1.key.provider }.map { destination, ledger in
                    [
                        "provider": .string(destination.provider), "accepted": .int(ledger.accepted),
                        "delivered": .int(ledger.delivered), "pending": .int(ledger.pending),
                        "purged": .int(ledger.purged), "dropped": .int(ledger.dropped.values.reduce(0, +)),
                    ]
                }
            ),
        ]
    }
}
