#if os(Linux)
    import Testing
    import Waiting

    @Suite("Deliveries under random events")
    struct DeliveryByChanceTests {
        @Test(
            "every accepted event is delivered, dropped, removed or held, no wake-up is lost, and a flush ends",
            arguments: 0..<(isSoak ? 100 : 1)
        )
        func anything(part: Int) async {
            await #expect(processExitsWith: .success) { [part] in
                TurnsByChance.take { turns in
                    for seed in part * 12..<(part + 1) * 12 {
                        let game = DeliveryGame(turns, seed: seed)
                        game.play()
                        #expect(game.violations.isEmpty, "seed \(seed): \(game.violations.prefix(3))")
                        if !game.violations.isEmpty { break }
                    }
                }
            }
        }
    }
#endif
