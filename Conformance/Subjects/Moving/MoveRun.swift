import ConformanceKit
import Experimentation
import ExperimentationMigration
import Synchronization

/// A simulation while it runs.
struct MoveRun {
    private let simulation: MoveSimulation
    private let stages: [any SubjectStage]
    private let watch: MoveWatch
    private var process: Process?
    private var told: [MoveReport.Stage] = []
    private var reports: [MigrationReport] = []
    private var leftOut: [String] = []
    private var destinations: [Destination] = []
    /// Real time; advanced by hand past leases and long pauses.
    private let time = SuiteTime()

    /// The maximum number of events that wait while more users come.
    private static let mostWaiting = 20_000

    /// A simulated process: a client, and the cut between it and the store.
    private struct Process {
        var client: ExperimentationClient
        var migration: Migration
        var cut: CutStore
    }

    init(_ simulation: MoveSimulation, _ stages: [any SubjectStage]) {
        self.simulation = simulation
        self.stages = stages
        watch = MoveWatch(users: simulation.users, simulation.plan.mapping)
    }

    // MARK: Playing

    mutating func play(_ progress: @Sendable (MoveSimulation.Progress) -> Void) async throws {
        for (number, step) in simulation.steps.enumerated() {
            if step.isKilled { await kill() }
            let process = try await running()
            var entry = MoveReport.Stage(title: step.title, stage: step.stage, share: step.share)
            entry.isKilled = step.isKilled
            entry.away = step.away.map { $0 == .old ? simulation.old.name : simulation.new.name }
            do {
                try await process.migration.move(to: step.stage, share: step.share)
            } catch {
                entry.held = process.migration.held.isEmpty ? [error.message] : process.migration.held
            }
            entry.reached = process.migration.stage
            if let away = step.away { try await stage(away).setReachable(false) }
            try await inject(number)
            let before = watch.counts
            let people = await visit(number, entry.reached, process, isAway: step.away != nil, progress)
            if let away = step.away { try await stage(away).setReachable(true) }
            for stage in stages { try await stage.clearFaults() }
            let after = watch.counts
            entry.users = people
            entry.changedVariant = after.changed - before.changed
            entry.failed = after.failed - before.failed
            entry.ledBy = [
                simulation.old.name: after.led[.old, default: 0] - before.led[.old, default: 0],
                simulation.new.name: after.led[.new, default: 0] - before.led[.new, default: 0],
            ]
            told.append(entry)
        }
        if let process {
            await settle(process)
            reports.append(process.migration.report)
            await process.client.shutdown()
        }
    }

    private func inject(_ step: Int) async throws {
        for side in MigrationSide.allCases {
            let faults = simulation.faults.filter { $0.befalls(side, inStep: step) }.map(\.fault)
            do { try await stage(side).inject(faults) } catch SubjectError.unsupported(let reason) {
                throw ExperimentationError(.invalidArgument, "a fault can't be played at the \(side) vendor: \(reason)")
            }
        }
    }

    /// Waits until all comparisons with the shadow are finished and everything is delivered.
    private func settle(_ process: Process) async {
        for _ in 0..<500 where process.migration.isComparing { try? await time.sleep(for: .milliseconds(20)) }
        for _ in 0..<20 {
            _ = try? await process.client.flush(within: .seconds(15))
            await count()
            if let ledger = try? await process.client.ledger(), ledger.pending == 0 { return }
            // A killed process's lease, or a pause that a vendor asked for, has to end first.
            time.push(by: .seconds(600))
        }
    }

    private mutating func running() async throws -> Process {
        if let process { return process }
        let old = try await stages[0].makeProvider()
        let new = try await stages[1].makeProvider()
        destinations = [old.destination, new.destination]
        let cut = CutStore(simulation.store)
        var plan = simulation.plan
        // Later processes find the stage in the store; the first one starts where the story does.
        (plan.stage, plan.share) = (.off, 0)
        // Normal priority: the simulation waits for every comparison.
        plan.shadow.isInBackground = false
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: old, to: new, plan: plan),
            store: cut.clientStore,
            // A small cache: users return only in a later step.
            options: ClientOptions(decisionCacheBytes: 4_000_000),
            environment: ClientEnvironment(time: time)
        )
        guard let migration = client.extras(as: Migration.self) else {
            throw SubjectError.broken("the migrating provider has no migration")
        }
        if leftOut.isEmpty, !migration.canTell(.old) {
            leftOut = [
                "log-ins: \(simulation.old.name) decides by itself and can't be told a user's place, so it deals anew whenever a user signs in, moved or not"
            ]
        }
        let process = Process(client: client, migration: migration, cut: cut)
        self.process = process
        return process
    }

    private mutating func kill() async {
        guard let process else { return }
        // Recording an exposure takes a moment; one not yet recorded would be lost in any kill.
        _ = try? await process.client.ledger()
        reports.append(process.migration.report)
        process.cut.cut()
        // The rest of the process ends by itself, and nothing it does reaches the store any more.
        await process.client.shutdown(within: .zero)
        self.process = nil
        // Starts the next one later, once the dead process's lease has expired.
        time.push(by: .seconds(600))
    }

    private func stage(_ side: MigrationSide) -> any SubjectStage { stages[side == .old ? 0 : 1] }

    /// Lets a step's users visit the shop, with a limited number at a time.
    private func visit(
        _ step: Int,
        _ stage: MigrationStage,
        _ process: Process,
        isAway: Bool,
        _ progress: @Sendable (MoveSimulation.Progress) -> Void
    ) async -> Int {
        var people = 0
        var next = 0
        let (watch, client, world) = (watch, process.client, simulation.worlds[.old] ?? .movingShop)
        // A vendor that decides by itself and can't be told a user's place reassigns the user at each log-in, with or
        // without a move.
        let signsIn = process.migration.canTell(.old)
        await withTaskGroup(of: Void.self) { group in
            var inside = 0
            while next < simulation.users {
                let user = next
                next += 1
                guard Self.comes(user, in: step) else { continue }
                people += 1
                if inside == simulation.crowd {
                    await group.next()
                    inside -= 1
                }
                inside += 1
                group.addTask { await watch.visit(user, step, stage, client, world, signsIn: signsIn) }
                if people.isMultiple(of: 500) {
                    await count()
                    if !isAway { await keepUp(process) }
                    progress(.init(step: step + 1, steps: simulation.steps.count, users: people))
                }
            }
        }
        return people
    }

    /// Pauses arrivals until most events are delivered, which bounds the memory of store and mocks.
    private func keepUp(_ process: Process) async {
        for _ in 0..<100 {
            guard let ledger = try? await process.client.ledger(), ledger.pending > Self.mostWaiting else { return }
            _ = try? await process.client.flush(within: .seconds(1), retrying: false)
            await count()
        }
    }

    /// Counts the exposures that have arrived, and forgets them where the vendor can.
    private func count() async {
        for (index, side) in MigrationSide.allCases.enumerated() {
            guard let taken = try? await stages[index].takeReceived() else { continue }
            watch.add(taken, at: side)
        }
    }

    /// Whether a user comes in a step: two of three users do, and different ones each time.
    private static func comes(_ user: Int, in step: Int) -> Bool {
        var mixed =
            UInt64(truncatingIfNeeded: user) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(truncatingIfNeeded: step)
            &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 31) &* 0x94D0_49BB_1331_11EB
        return (mixed >> 40) % 3 != 0
    }

    // MARK: Telling

    func report() async throws -> MoveReport {
        var report = MoveReport(old: simulation.old.name, new: simulation.new.name, users: simulation.users)
        report.experiments = (simulation.worlds[.old] ?? .movingShop).experiments.filter(\.isRunning).map(\.id)
        report.leftOut = leftOut
        report.keepsVariations = simulation.plan.reassignment == .refused
        report.hasFaults = !simulation.faults.isEmpty
        report.stages = told
        await count()
        let counts = watch.counts
        report.changedVariant = counts.changed
        report.unassigned = counts.lost
        report.changes = counts.changes
        for mine in reports {
            for (kind, number) in mine.confirmed { report.mismatches[kind, default: 0] += number }
            report.compared += mine.compared
            report.dropped += mine.dropped
            for (side, number) in mine.unsupported {
                report.unsupported[side == .old ? simulation.old.name : simulation.new.name, default: 0] += number
            }
        }
        report.ratios = watch.ratios
        for side in MigrationSide.allCases {
            let index = side == .old ? 0 : 1
            let subject = side == .old ? simulation.old : simulation.new
            let takes = subject.capabilities.contains(.exposures)
            watch.add(try await stages[index].received(), at: side)
            report.exposures[subject.name] = .init(
                watch.exposures(at: side),
                isTaking: takes,
                tellsRepeats: subject.wireFields.contains(.eventID)
            )
            guard destinations.indices.contains(index) else { continue }
            let destination = destinations[index]
            report.ledgers[subject.name] = .init(
                status: try await simulation.store.outbox.status(of: destination, now: time.now),
                ledger: try await simulation.store.outbox.ledger(of: destination)
            )
        }
        return report
    }
}
