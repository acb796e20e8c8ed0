import Experimentation

/// Asks the vendor that doesn't lead, and compares whole answers.
struct Shadow: Sendable {
    let old: Party
    let new: Party
    let plan: MigrationPlan
    let time: any TimeSource
    let tally: Tally

    /// The leader's decisions for a user.
    struct Led: Sendable {
        var side: MigrationSide
        var answer: Party.Answer
        var contexts: [MigrationSide: EvaluationContext]
        var user: String
    }

    private enum Look: Sendable {
        case answer(Party.Answer)
        case failed(ErrorCode)
    }

    /// Compares and confirms differences; never throws, and each look ends at the policy's deadline.
    func compare(_ led: Led) async {
        let follower = led.side.other
        let shadow = await look(at: follower, led, isForced: false)
        if Task.isCancelled { return }
        let first = differences(led, .answer(led.answer), shadow)
        tally.add(compared: first.compared, latency: (follower, latency(of: shadow)))
        guard !first.mismatches.isEmpty else { return }
        var open = first.mismatches.filter { tally.observe($0) }
        // Late answers need no second look. Known invisible mismatches were filtered out above.
        let late = open.filter { $0.kind == .late }
        late.forEach(tally.confirm)
        open.removeAll { $0.kind == .late }
        for _ in 0..<5 where !open.isEmpty {
            try? await time.sleep(for: plan.shadow.moment)
            if Task.isCancelled { return }
            async let one = look(at: .old, led, isForced: true)
            async let two = look(at: .new, led, isForced: true)
            let looks = await (old: one, new: two)
            if Task.isCancelled { return }
            let again = differences(
                led,
                led.side == .old ? looks.old : looks.new,
                led.side == .old ? looks.new : looks.old
            )
            var undecided: [Mismatch] = []
            for mismatch in open {
                let second = again.mismatches.first { $0.key == mismatch.key }
                switch Confirmation.judge(mismatch, second) {
                case .confirmed: tally.confirm(mismatch)
                case .gone: break
                case .undecided: if let second { undecided.append(second) }
                }
            }
            open = undecided
        }
        open.forEach(tally.leaveUndecided)
    }

    private func look(at side: MigrationSide, _ led: Led, isForced: Bool) async -> Look {
        let party = side == .old ? old : new
        guard let context = led.contexts[side] else { return .failed(.general) }
        let race = AsyncRace<Look>()
        let asking = Task {
            do throws(ExperimentationError) {
                let answer = try await party.answer(for: context, isForced: isForced, isShadow: true)
                race.finish(with: answer.map { .answer($0) } ?? .failed(.disabled))
            } catch {
                race.finish(with: .failed(error.code == .timeout ? .transport : error.code))
            }
        }
        let clock = Task { [time] in
            try? await time.sleep(for: plan.shadow.deadline)
            race.finish(with: .failed(.timeout))
        }
        let winner = await race.winner() ?? .failed(.cancelled)
        clock.cancel()
        if case .answer = winner { return winner }
        asking.cancel()
        if case .failed(.timeout) = winner {
            // Occupies the worker until the request has ended, so that requests never outnumber workers.
            await asking.value
        }
        return winner
    }

    private func latency(of look: Look) -> Duration {
        if case .answer(let answer) = look { answer.latency } else { plan.shadow.deadline }
    }

    private func differences(_ led: Led, _ leader: Look, _ follower: Look) -> (compared: Int, mismatches: [Mismatch]) {
        let looks = led.side == .old ? (leader, follower) : (follower, leader)
        var keys: [String] = []
        var seen: Set<String> = []
        for case .answer(let answer) in [looks.0, looks.1] {
            for key in answer.decisions.keys where seen.insert(key).inserted { keys.append(key) }
        }
        var found: [Mismatch] = []
        for key in keys {
            let one = answer(looks.0, key)
            let two = answer(looks.1, key)
            let kind = FlagComparison.difference(one, two) { oldVariant, newVariant in
                areSame(oldVariant, newVariant, key, looks.0, looks.1)
            }
            guard let kind else { continue }
            let value = one.resolution?.value ?? two.resolution?.value
            found.append(
                Mismatch(
                    key: key,
                    type: FlagComparison.type(of: value),
                    kind: kind,
                    leader: led.side,
                    old: one,
                    new: two,
                    user: led.user
                )
            )
        }
        return (keys.count, found)
    }

    private func answer(_ look: Look, _ key: String) -> Mismatch.Answer {
        switch look {
        case .failed(let code):
            return Mismatch.Answer(failure: code, latency: code == .timeout ? plan.shadow.deadline : .zero)
        case .answer(let answer):
            return Mismatch.Answer(
                answer.decisions[key],
                latency: answer.latency,
                version: answer.version,
                age: answer.age
            )
        }
    }

    /// Compares variants of a mapped experiment by the mapping, others by name.
    private func areSame(_ one: String?, _ two: String?, _ key: String, _ old: Look, _ new: Look) -> Bool {
        if one == two { return true }
        guard case .answer(let oldAnswer) = old, case .answer(let newAnswer) = new,
            let oldPlace = assignment(of: key, in: oldAnswer.decisions),
            let newPlace = assignment(of: key, in: newAnswer.decisions)
        else { return false }
        return plan.mapping.translate(oldPlace.variation.id, ofGroup: oldPlace.group, from: .old)
            == newPlace.variation.id
            && plan.mapping.experiment(ofGroup: oldPlace.group, at: .old)?.new.group == newPlace.group
    }

    private func assignment(of key: String, in decisions: Decisions) -> Assignment? {
        guard let place = decisions[key]?.assignment, decisions.catalogue.assignments.indices.contains(place) else {
            return nil
        }
        return decisions.catalogue.assignments[place]
    }
}
