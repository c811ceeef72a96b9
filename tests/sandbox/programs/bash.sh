read -r line
case $line in
echo*) echo "é ${line#echo }" ;;
exit) exit 3 ;;
crash) kill -SEGV $$ ;;
spin) while :; do :; done ;;
memory) held=$(printf '%1048576s'); while :; do held="$held$held"; done ;;
esac
