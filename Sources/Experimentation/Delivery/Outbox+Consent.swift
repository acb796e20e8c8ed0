/// Consent: granting it, and carrying out its denial.
extension Outbox {
    /// Queues a change of consent; the caller then waits for ``outcome(of:)`` or ``deny(_:_:)``.
    func enter(_ change: ConsentChange) -> Intake.Ticket { intake.enter(.consent(change)) }

    /// Queues a change of consent for a caller that can't wait.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - failed: Called if a store couldn't be told.
    func note(_ change: ConsentChange, failed: @escaping @Sendable (ExperimentationError) -> Void) {
        let denial = change.isGranted ? nil : StandingDenial()
        intake.note(.consent(change), denial) { [weak self] outcome in
            guard let denial else {
                if case .failure(let error) = outcome { failed(error) }
                return
            }
            switch outcome {
            case .failure(let error):
                self?.intake.end(denial, of: change.userID)
                failed(error)
            case .success:
                guard let self else { return }
                denials.carryOut {
                    do throws(ExperimentationError) { try await self.denied(change.userID, denial) } catch {
                        failed(error)
                    }
                }
            }
        }
    }

    /// Whether the user's latest choice in this run, in any session, is a denial.
    func isDenied(by userID: String) -> Bool { intake.isDenied(by: userID) }

    /// Whether there may be a denial of the user's, which consent would end.
    func mayBeDenied(by userID: String) -> Bool { isDenied(by: userID) || owed.mayBeOwed(userID) }

    /// Waits until a user's denial is carried out.
    ///
    /// The user's waiting events are then removed, what is kept about the user is deleted, and apart from the consent
    /// signal no request with an event of the user is under way.
    ///
    /// - Parameters:
    ///   - ticket: The denial's place in line.
    ///   - userID: The user.
    /// - Throws: What the stores throw; unless the user has consented again, no event of the user is then sent or
    ///   accepted, and the denial is tried again.
    func deny(_ ticket: Intake.Ticket, _ userID: String) async throws(ExperimentationError) {
        var failure: ExperimentationError?
        do throws(ExperimentationError) { try await intake.outcome(of: ticket) } catch { failure = error }
        if failure?.code == .shutDown { return try await denyAfterEnd(userID, ticket.denial) }
        do throws(ExperimentationError) {
            try await denied(userID, ticket.denial)
        } catch {
            failure = failure ?? error
        }
        if let failure { throw failure }
    }

    /// Carries out a denial that comes after the client's end, when nothing joins the line any more.
    ///
    /// - Throws: What the stores throw; the next run then carries it out.
    private func denyAfterEnd(_ userID: String, _ denial: StandingDenial?) async throws(ExperimentationError) {
        defer { if let denial { intake.end(denial, of: userID) } }
        await withdraw(userID)
        owed.hold([userID])
        do throws(ExperimentationError) {
            try await owed.carryOut(userID)
        } catch {
            await owed.note([userID])
            throw error
        }
    }

    /// Carries out the consequences of a denial besides the store's transaction; if one fails, the denial is owed as
    /// long as it is the user's latest choice.
    private func denied(_ userID: String, _ denial: StandingDenial?) async throws(ExperimentationError) {
        defer { if let denial { intake.end(denial, of: userID) } }
        await withdraw(userID)
        do throws(ExperimentationError) {
            try await kept.forget(userID: userID)
        } catch {
            await owed.owe([userID], unless: { denial?.isLastWord == false })
            throw error
        }
    }

    /// Removes what was kept about a user after the user's denial had removed the rest; if that fails, the denial is
    /// owed as long as it is the user's latest choice.
    func forget(_ userID: String) async {
        do throws(ExperimentationError) { try await kept.forget(userID: userID) } catch {
            await owed.owe([userID], unless: { !isDenied(by: userID) })
        }
    }

    /// Waits until no request with an event of a user who denies consent is under way, except the consent signal.
    func withdraw(_ userID: String) async {
        for deliverer in deliverers { await deliverer.withdraw([ExactText(userID)]) }
    }
}
