import Experimentation
import ExperimentationComposition
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import Waiting

@testable import ExperimentationMigration

/// The processes, and where each finds the move.
extension CutMove {
    /// How a vendor decides, and what else is composed with it.
    enum Shape: CaseIterable { case computed, asked, besideWarehouse }

    private func provider(_ side: MigrationSide, _ store: MortalStore) throws -> any ExperimentationProvider {
        let vendor = vendor(side)
        switch shapes[side] {
        case .computed, nil: return Reached(vendor, by: store)
        case .asked: return Reached(Asked(vendor), by: store)
        case .besideWarehouse:
            return try ComposedProvider([
                .init(Reached(vendor, by: store)), .init(Reached(EventsOnly(warehouse), by: store)),
            ])
        }
    }

    /// Begins a process, under the same plan as before, a new one or an earlier one.
    func begin(isLast: Bool = false) async throws -> Process {
        while true {
            if !isLast, !plans.isEmpty, roll(5) == 0 { beginAnotherMove() }
            let former = plan
            let kind = isLast ? 0 : roll(8)
            if kind < 2, !isLast { plan = newPlan() }
            if kind > 5 { plan = plans.suffix(3).randomElement(using: &chance) ?? plan }
            let isNew = !plans.contains(plan)
            let file = try SQLiteStore(at: url)
            // A start takes some twenty operations.
            let first = roll(roll(2) == 0 ? 30 : 120)
            let store = MortalStore(
                ClientStore(outbox: file, state: file),
                dyingAfter: isLast ? .max : 5 + roll(250),
                failing: !isLast && !plans.isEmpty && roll(3) == 0 ? first..<(first + 1 + roll(12)) : 0..<0,
                losesLast: roll(2) == 0
            )
            let planned = Place(stage: plan.stage, share: plan.share)
            note("process under \(planned) r\(plan.revision)")
            let provider = MigratingProvider(
                from: try provider(.old, store),
                to: try provider(.new, store),
                plan: plan
            )
            let environment = ClientEnvironment(time: moves.time, makeID: numbers.next, jitter: { 0.5 })
            do throws(ExperimentationError) {
                let client = try await moves.time.passing { () async throws(ExperimentationError) in
                    try await ExperimentationClient(
                        provider: provider,
                        store: store.clientStore,
                        environment: environment
                    )
                }
                guard let migration = client.extras(as: Migration.self) else { continue }
                let process = Process(client: client, migration: migration, store: store, file: file)
                if !store.isDead {
                    found(process, isNew ? planned : nil)
                    if isNew, store.hasFailed { plan = former }
                    return process
                }
                await end(process)
            } catch {
                note("doesn't start: \(error)")
                store.die()
                await file.close()
            }
            // A plan may have been applied before the death.
            if isNew { expect(planned) }
            plan = former
        }
    }

    /// The first plan of the present move.
    private var ownPlan: MigrationPlan {
        var plan = moves.plan
        if moveNumber > 0 { plan.salt = "move-\(moveNumber)" }
        return plan
    }

    /// Begins another move to the same vendor, on the same store.
    private func beginAnotherMove() {
        moveNumber += 1
        note("another move")
        plan = ownPlan
        plans = []
        places = [Place(stage: plan.stage, share: plan.share)]
        // A vendor that is asked for each user doesn't learn what the former move has taken over from the new one.
        if shapes[.old] == .asked { for index in people.indices { people[index].colors = nil } }
    }

    private func newPlan() -> MigrationPlan {
        lastRevision += 1
        var plan = ownPlan
        plan.revision = lastRevision
        (plan.stage, plan.share) = (MigrationStage.allCases[roll(6)], Double(roll(5)) / 4)
        return plan
    }

    /// Compares the stage in which a new process finds the move with the possible stages.
    private func found(_ process: Process, _ planned: Place?) {
        if let planned, process.place != planned {
            fail("the new plan isn't in force, but \(process.place)")
        }
        if process.store.hasFailed {
            // The stage may still have to be read, and the plan to be written.
            expect(process.place)
        } else {
            if planned == nil, !places.contains(process.place) { fail("begun at \(process.place), not \(places)") }
            if planned != nil { plans.append(plan) }
            settle(process, at: process.place)
        }
        for side in off.keys where !process.migration.party(side).isOff {
            if !process.store.hasFailed { fail("the kill switch of \(side) is forgotten") }
            off[side] = nil
        }
    }

    /// Adds a possible stage of the move.
    func expect(_ place: Place) {
        places.insert(place)
        if place.stage.sendsEvents(to: .new) { mayHaveReachedNew = true }
    }

    /// Notes that a process has reported the stage of the move, and that the store can have it.
    func settle(_ process: Process, at place: Place? = nil) {
        if place == nil {
            // An instance reads the stage every two seconds.
            guard let since = process.healthySince, moves.time.now.timeIntervalSince(since) > 2.1 else { return }
        }
        let place = place ?? process.place
        places = [place]
        if place.stage.sendsEvents(to: .new) { (hasReachedNew, mayHaveReachedNew) = (true, true) }
    }

    /// Checks a process after a step.
    func check(_ process: inout Process) {
        if process.store.isDead { return }
        if process.healthySince == nil, !process.store.isFailing { process.healthySince = moves.time.now }
        if !places.contains(process.place) { fail("at \(process.place), not \(places)") }
        for (side, before) in off {
            let sent = vendor(side).record.batches.count
            if sent > before { fail("\(side) is off, and is sent events") }
            off[side] = sent
        }
    }

    /// Notes the kill switches that a process has seen and kept, after an answer of the vendor that leads all users.
    func noteSwitches(_ process: Process) async {
        let side = process.place.stage.leader
        guard let side, disabled.contains(side), off[side] == nil, process.migration.party(side).isOff else { return }
        // What is being sent at this moment isn't sent in spite of the switch.
        _ = try? await process.client.flush(within: .seconds(5), retrying: false)
        if !process.store.isDead, !process.store.hasFailed { off[side] = vendor(side).record.batches.count }
    }

    /// Kills a process.
    func end(_ process: Process) async {
        note("killed")
        process.store.die()
        await process.client.shutdown(within: .zero)
        await process.file.close()
    }

    /// Lets a last process, without failures, deliver everything.
    func finish() async throws {
        for side in MigrationSide.allCases { endTrouble(with: side) }
        var process = try await begin(isLast: true)
        for (index, person) in people.enumerated() {
            if person.consent == .unknown || !person.isTold {
                await choose(person.consent == .denied ? .denied : .granted, index, &process)
            }
        }
        // Events held for the ids before signing in as well.
        for person in people where person.isSignedIn {
            try await process.client.setConsent(.granted, for: User(id: "visit-\(person.number)"))
        }
        try await eventually("nothing waits", within: .seconds(30)) {
            moves.time.advance(by: .seconds(90_000))
            _ = try await process.client.flush(within: .seconds(5), retrying: false)
            return try await process.client.ledger().pending == 0
        }
        judge(try await process.client.ledgers())
        await process.client.shutdown(within: .zero)
        await process.file.close()
    }
}
