#if os(Linux)
    import Testing
    import Waiting

    @Suite("The line into the store under random statements")
    struct IntakeByChanceTests {
        @Test(
            "every statement is stored once, in order, and answered once, and the line never stalls",
            arguments: 0..<(isSoak ? 100 : 1)
        )
        func anything(part: Int) async {
            await #expect(processExitsWith: .success) { [part] in
                TurnsByChance.take { turns in
                    for seed in part * 30..<(part + 1) * 30 {
                        let game = IntakeGame(turns, seed: seed)
                        game.play()
                        #expect(game.violations.isEmpty, "seed \(seed): \(game.violations.prefix(3))")
                        if !game.violations.isEmpty { break }
                    }
                }
            }
        }
    }
#endif
