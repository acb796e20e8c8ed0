import Experimentation
import ExperimentationTesting
import Foundation

@testable import ExperimentationMigration

/// What users, operators and vendors do.
extension CutMove {
    func step(_ process: inout Process) async {
        let index = roll(people.count)
        switch roll(20) {
        case 0...6: await visit(index, &process)
        case 7...9: await track(index, &process)
        case 10: await choose(.denied, index, &process)
        case 11: await choose(.granted, index, &process)
        case 12: await signIn(index, &process)
        case 13, 14: await move(process)
        case 15: trouble()
        case 16, 17: _ = try? await process.client.flush(within: .seconds(5), retrying: false)
        case 18: moves.time.advance(by: .seconds(roll(2) == 0 ? 40 : 3_600))
        default: if roll(3) == 0 { process.store.die() }
        }
    }

    private func session(of index: Int, _ process: inout Process) -> UserSession {
        if let session = process.sessions[index], roll(2) == 0 { return session }
        var user = people[index].user
        // Once the choice was reported, the application needn't remember it.
        if user.consent == .denied, people[index].isTold, roll(2) == 0 { user.consent = .unknown }
        let session = process.client.session(for: user)
        process.sessions[index] = session
        return session
    }

    private func visit(_ index: Int, _ process: inout Process) async {
        let session = session(of: index, &process)
        let isAnswered = (try? await session.refresh()) != nil
        if process.store.isDead { return }
        let colors = (0..<2).map { session.string("f\($0)", default: "none") }
        note("\(index) visits: \(session.user.consent) \(colors) \(isAnswered) \(process.migration.stage)")
        if isAnswered {
            settle(process)
            await noteSwitches(process)
        }
        let person = people[index]
        let isKept = person.consent == .granted || (person.consent == .unknown && !moves.old.roles.needsConsent)
        // A vendor that keeps no variations may assign another one to another id.
        let isOther = person.isSignedIn && shapes.values.contains(.asked)
        guard isKept, !isOther, !colors.contains("none") else { return }
        let before = person.colors ?? colors
        if before != colors { fail("\(index) saw \(before), then \(colors)") }
        people[index].colors = before
    }

    private func track(_ index: Int, _ process: inout Process) async {
        let session = session(of: index, &process)
        let person = people[index]
        var goal = Goal(
            name: "goal-\(goals.count)",
            user: session.user.id,
            stage: process.migration.stage,
            date: moves.time.now
        )
        do throws(ExperimentationError) {
            defer { goal.stage = process.migration.stage }
            try await session.track(.custom(goal.name))
            goal.isAccepted = !process.store.isDead
            if person.consent == .denied, person.isTold { fail("\(index) denies, and \(goal.name) is accepted") }
        } catch {
            let isExpected = error.code == .store || (error.code == .consentDenied && person.consent == .denied)
            if !isExpected { fail("\(goal.name): \(error)") }
        }
        note("\(index) reaches \(goal.name): \(session.user.consent) \(goal.stage) \(goal.isAccepted)")
        goals.append(goal)
    }

    func choose(_ consent: Consent, _ index: Int, _ process: inout Process) async {
        let (id, now) = (people[index].id, moves.time.now)
        if consent == .denied {
            attempts.append((id, now))
            // The stored progress of a link is removed, so it would start over.
            cuts[index, default: 0] += 1
        }
        for place in denials.indices where consent == .granted && denials[place].user == id {
            denials[place].end = denials[place].end ?? now
        }
        (people[index].consent, people[index].isTold, people[index].colors) = (consent, false, nil)
        let session = process.sessions.removeValue(forKey: index)
        do throws(ExperimentationError) {
            if let session, session.user.consent != consent, roll(2) == 0 {
                try await session.setConsent(consent)
            } else {
                try await process.client.setConsent(consent, for: people[index].user)
            }
            people[index].isTold = !process.store.isDead
        } catch {
            note("\(error)")
        }
        note("\(index) chooses: \(consent) \(people[index].isTold)")
        guard people[index].isTold, consent == .denied else { return }
        let had = [moves.old, moves.new, warehouse].flatMap { vendor in
            vendor.record.delivered.filter { $0.identity.id == id }.map { "\(vendor.name) \($0.id)" }
        }
        denials.append(Denial(user: id, date: now, delivered: Set(had), hasReachedNew: hasReachedNew))
    }

    private func signIn(_ index: Int, _ process: inout Process) async {
        guard people[index].consent == .granted, people[index].isTold else { return }
        if !people[index].isSignedIn, roll(2) == 0, await !link(index, &process) { return }
        people[index].isSignedIn = true
        process.sessions[index] = nil
        note("\(index) signs in")
    }

    /// Links the two ids of a user; whether that is complete.
    private func link(_ index: Int, _ process: inout Process) async -> Bool {
        let session = session(of: index, &process)
        do throws(ExperimentationError) {
            try await session.link(to: Identity(id: "person-\(index)", anonymousID: "visit-\(index)"))
        } catch {
            note("\(index) isn't linked: \(error)")
            if error.code == .store { cuts[index, default: 0] += 1 }
            return false
        }
        links.append(Link(person: index, stage: process.migration.stage))
        note("\(index) is linked in \(process.migration.stage)")
        return true
    }

    private func move(_ process: Process) async {
        let place = Place(stage: MigrationStage.allCases[roll(6)], share: Double(roll(5)) / 4)
        let isMoved = (try? await process.migration.move(to: place.stage, share: place.share)) != nil
        note("moves to \(place): \(isMoved)")
        if process.store.isDead {
            expect(place)
        } else if isMoved {
            places = []
            expect(place)
            settle(process, at: place)
        }
    }

    private func trouble() {
        let side: MigrationSide = roll(2) == 0 ? .old : .new
        let kind = roll(6)
        note("trouble \(kind) with \(side)")
        switch kind {
        case 0: vendor(side).setFailure(ExperimentationError(.transport, "away"))
        case 1:
            vendor(side).setDisabled(true)
            disabled.insert(side)
        case 2: vendor(side).setVerdict { _ in .outage() }
        default: endTrouble(with: side)
        }
    }

    func endTrouble(with side: MigrationSide) {
        vendor(side).setFailure(nil)
        vendor(side).setVerdict { _ in .delivered }
        vendor(side).setDisabled(false)
        disabled.remove(side)
        off[side] = nil
    }
}
