import Data.List (isPrefixOf)
import qualified Data.Map as Map
import System.Exit

main :: IO ()
main = do
  line <- getLine
  case line of
    "exit" -> exitWith (ExitFailure 3)
    "crash" -> error "no"
    "spin" -> print (length [1 :: Integer ..])
    "memory" -> print (Map.foldr (+) 0 held + Map.foldl (+) 0 held)
    _ | "echo " `isPrefixOf` line -> putStrLn ("é " ++ drop 5 line)
    _ -> return ()
  where
    held = Map.fromList [(n, n) | n <- [1 :: Integer .. 1000000000]]
