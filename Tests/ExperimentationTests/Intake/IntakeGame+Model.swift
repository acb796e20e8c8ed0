#if os(Linux)
    @testable import Experimentation

    /// The required outcome of statements: that of a store that carries them out one after another.
    extension IntakeGame {
        /// Whether a user denies consent, if that is certain: a call that failed may have been carried out.
        private enum Word { case consents, denies, open }

        func compare() {
            checkStored()
            // An operation that was carried out but reported as failed may be repeated, after those that followed it.
            if mayHide { return }
            checkOrder()
            checkConsent()
        }

        /// Each accepted event is stored once, each refused one never.
        private func checkStored() {
            var stored: [String: Int] = [:]
            for case .stored(let id, nil) in store.deeds { stored[id, default: 0] += 1 }
            for one in stated {
                guard case .event = one.kind, let outcome = one.outcomes.value.first else { continue }
                let times = stored["\(one.number)"] ?? 0
                switch outcome {
                case .success: expect(mayHide ? times > 0 : times == 1, "\(one) is accepted and stored \(times) times")
                case .failure: expect(mayHide || times == 0, "\(one) is refused and stored \(times) times")
                }
            }
        }

        /// A user's events are stored in the order in which they were stated.
        private func checkOrder() {
            var last: [String: Int] = [:]
            var seen: Set<String> = []
            for case .stored(let id, nil) in store.deeds {
                guard let number = Int(id), seen.insert(id).inserted else { continue }
                let userID = stated[number].userID
                expect(last[userID, default: -1] < number, "\(number) is stored behind \(last[userID] ?? 0)")
                last[userID] = number
            }
        }

        /// Denials and consent take effect in the order in which they were stated.
        private func checkConsent() {
            var words: [String: Word] = [:]
            for (index, one) in stated.enumerated() {
                guard let outcome = one.outcomes.value.first else { continue }
                let word = words[one.userID] ?? .consents
                let code: ErrorCode? = if case .failure(let error) = outcome { error.code } else { nil }
                if code == .shutDown { continue }
                switch one.kind {
                case .mark: break
                case .consent(false): words[one.userID] = .denies
                case .consent(true): words[one.userID] = code == nil ? .consents : .open
                case .event(let grants, let isLarge):
                    let isRemoved =
                        one.isNoted
                        && stated[index...].contains {
                            $0.userID == one.userID && $0.kind == .consent(isGranted: false)
                        }
                    expect(!isLarge || code != nil, "\(one) is too large")
                    if code == .consentDenied { expect(isRemoved || word != .consents && !grants, "\(one) was denied") }
                    if code == nil { expect(grants || word != .denies, "\(one) wasn't denied, but was \(word)") }
                    if grants, code != .consentDenied { words[one.userID] = code == .store ? .open : .consents }
                }
            }
        }
    }
#endif
